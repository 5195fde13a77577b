"""Mathematical expressions compared by what they mean."""
