"""Thin Prefect shells, one verb each."""
