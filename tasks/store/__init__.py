"""Stored data of runs: tables, replies, manifests, baselines."""
