"""One file a family: generator and verifier side by side. A new family is one new file with a `UNIT`."""
