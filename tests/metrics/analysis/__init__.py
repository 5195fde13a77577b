"""What whole runs come to."""
