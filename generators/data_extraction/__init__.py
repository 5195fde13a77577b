"""Addresses, numbers and dates to find in a text."""
