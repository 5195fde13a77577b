"""Small functions to write, with their tests."""
