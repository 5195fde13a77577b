"""One file per family, with its generator and verifier. A new family is a new file with a decorated function."""
