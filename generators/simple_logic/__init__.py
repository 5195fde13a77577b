"""Who is the tallest: orderings with one answer."""
