"""Frozen pydantic models of the configuration, how it is read, and the YAML files that ship."""
