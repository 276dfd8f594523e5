"""Models that run in this process: one more producer of events."""
