"""What a reply says: one reader for every metric and family, in four passes over plain text.

`thinking` takes off what a model thought aloud, `ends` what does not belong to the reply, `statements` finds the
places that may state an answer, `answer` decides. What an answer is, a slot says: `numbers`, `options`, `names`.
The words of twenty-odd languages are rows of the YAML files, each with an example that a test reads.
"""

from basic_control.data.reading import ends, thinking


def reply_text(text: str, *, prompt: str = "", question: str = "", expected: str = "") -> str:
    """Return a reply without its thinking and without what does not belong to it (passes 1 and 2), stripped.

    Source: SPEC 19.
    """
    spoken, _ = thinking.split(text, prompt + expected)
    return ends.strip(spoken, prompt=prompt, question=question, expected=expected)
