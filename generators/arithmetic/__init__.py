"""Expressions to evaluate."""
