"""Find the program in a response, or say that there is none."""
