"""One module per format of another tool, discovered by its presence: see `tasks.exchange.discovery`."""
