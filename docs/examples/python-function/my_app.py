"""An application of one's own: it looks a flight up, and cites what it found."""

import re

from config import FLIGHTS


def answer(prompt):
    number = re.search(r"flight (\d+)", prompt)[1]
    if number not in FLIGHTS:
        return "I do not know that flight."
    return {"text": f"{FLIGHTS[number]}.", "contexts": [f"Flight {number} goes to {FLIGHTS[number]}."]}
