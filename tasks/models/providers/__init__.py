"""One file a provider; each is found by its being here, and its package is imported only where it is used."""
