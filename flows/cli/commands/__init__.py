"""The commands, one a file; `flows.cli` says how one is written."""
