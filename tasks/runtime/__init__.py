"""Shared by a run's processes: the store and the reply cache, the log, parallel work."""
