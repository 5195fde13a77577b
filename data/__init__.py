"""What flows: record types, table schemas, discovery of plugins, loaders of data sets."""
