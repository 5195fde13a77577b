"""Loaders of suites' items: one file for each form of data, each with a decorated function."""
