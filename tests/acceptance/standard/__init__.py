"""Replies to the standard metrics, in the styles that real models write, with what SPEC 14 says of each."""
