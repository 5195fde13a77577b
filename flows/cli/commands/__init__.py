"""The commands; `flows.cli` says how one is written."""
