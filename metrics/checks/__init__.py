"""What a row asks of its reply, check by check."""
