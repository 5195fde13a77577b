"""Programs scored by their tests."""
