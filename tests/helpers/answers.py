"""Replies, as metrics' scores are made of them."""

from basic_control.tasks.store.samples import SampleRow


def answer(text: str | None) -> SampleRow:
    """Return a reply to a question that tests a function."""
    sample = {"tests": ["assert f(1) == 2", "assert f(2) == 4"], "response": text}
    return SampleRow("i", "m", 0, "en", sample, "network" if text is None else None, None)
