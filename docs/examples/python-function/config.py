"""The application's own settings; Basic Control has a `config` too, and neither is in the other's way."""

FLIGHTS = {"17": "Oslo", "23": "Porto", "40": "Cork"}
