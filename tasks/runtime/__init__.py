"""What a run's processes share: the store and the reply cache, the log, parallel work."""
