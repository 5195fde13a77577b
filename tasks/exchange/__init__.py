"""Read other tools' logs as rows with given responses. Nothing in a log is executed or fetched."""
