"""Loaders: one file a form of data, each with a `UNIT`; the items of every suite come from one of them."""
