"""Answers that cite numbered passages in the forms of real models, and prose that cites nothing."""
