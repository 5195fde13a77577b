"""The pages of docs/: their site, their blocks, and what is made from the code."""
