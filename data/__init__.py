"""Record types, table schemas, plugin discovery, and data set loaders."""
