"""One file per provider, discovered by its presence; its package is imported only when it is used."""
