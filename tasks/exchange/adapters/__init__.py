"""One module a form of another tool, found by its being here: see `tasks.exchange.discovery`."""
