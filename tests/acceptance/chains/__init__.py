"""Right chains of thought in many styles, and the same with one slip, written from the rules alone."""
