"""One file a metric: pure functions, no client, no network, no file."""
