"""What other tools recorded: logs read as rows with given responses. Nothing of a log is executed or fetched."""
