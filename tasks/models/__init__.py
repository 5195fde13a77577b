"""Who answers calls: the providers, each in one file."""
