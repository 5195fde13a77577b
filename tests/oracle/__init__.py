"""An oracle written from the rules alone, and random runs held against it."""
