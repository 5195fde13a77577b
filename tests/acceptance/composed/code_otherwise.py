"""Right programs by another method, written by hand for some of the tasks."""

from collections.abc import Mapping
from random import Random

from data.records import Item
from tests.acceptance.composed.common import Style
from tests.acceptance.composed.programs import right, surely_right

# A task's template and form, and the lines of a function for it: {A} and so on are the item's constants.
OTHERWISE: Mapping[tuple[str, int], str] = {
    ("of_two", 0): "    return max([a, b])",
    ("of_two", 1): "    return sorted((a, b))[0]",
    ("sign", 0): "    if n > 0:\n        return True\n    else:\n        return False",
    ("sign", 1): "    return str(n).startswith('-')",
    ("clamp", 0): (
        "    if n < {LOW}:\n        return {LOW}\n    elif n > {HIGH}:\n        return {HIGH}\n"
        "    return n"
    ),
    ("divisible", 0): "    return not n % {K}",
    ("divisible", 1): "    return bool(n % {K})",
    ("count_letter", 0): (
        "    count = 0\n    for i in range(len(text)):\n        if text[i] == {LETTER!r}:\n            count += 1\n"
        "    return count"
    ),
    ("price", 0): "    return price - price * {P} / 100",
    ("price", 1): "    return price * (1 + {P} / 100)",
    ("lookup", 0): "    try:\n        return stock[product]\n    except KeyError:\n        return {DEFAULT}",
    ("share", 0): (
        "    try:\n        return divmod(total - {K}, people)[0]\n    except ZeroDivisionError:\n"
        "        return None"
    ),
    ("ends", 0): "    from itertools import islice\n    return list(islice(numbers, {N}))",
    ("without", 0): "    return list(filter(lambda n: n != {VALUE}, numbers))",
    ("repeat", 0): (
        "    result = ''\n    for i in range({N}):\n        result += ({SEP!r} if i else '') + text\n"
        "    return result"
    ),
    ("mean", 0): "    from statistics import fmean\n    return fmean(n for n in numbers if n >= {LIMIT})",
    ("mean", 1): "    from statistics import fmean\n    return fmean([n for n in numbers if n <= {LIMIT}])",
    ("extremes", 0): "    return min(numbers) * {K}, max(numbers) * {K}",
    ("extremes", 1): "    low, *_, high = sorted(numbers * 2)\n    return {K} * high, {K} * low",
    ("parse", 0): (
        "    result = dict()\n    for entry in text.split({SEP!r}):\n        name, number = entry.split({LINK!r})\n"
        "        result[name] = int(number)\n    return result"
    ),
    ("remainders", 0): (
        "    from collections import defaultdict\n    groups = defaultdict(list)\n    for n in numbers:\n"
        "        groups[n % {K}] += [n]\n    return dict(groups)"
    ),
    ("index", 0): "    return next((i for i, n in enumerate(numbers) if n > {LIMIT}), None)",
    ("index", 1): "    return next((i for i, n in enumerate(numbers) if n < {LIMIT}), None)",
    ("digits", 0): (
        "    n, total = abs(n), 0\n    while n:\n        n, digit = divmod(n, 10)\n        if digit >= {D}:\n"
        "            total += digit\n    return {M} * total"
    ),
    ("top", 0): "    import heapq\n    return heapq.nlargest({N}, set(numbers))",
    ("top", 1): "    import heapq\n    return heapq.nsmallest({N}, set(numbers))",
    ("merge", 0): (
        "    from collections import Counter\n    total = Counter(first)\n    total.update(second)\n"
        "    return {{key: count for key, count in total.items() if count >= {N}}}"
    ),
    ("caesar", 0): (
        "    import string\n    letters = string.ascii_lowercase\n    shifted = letters[{K}:] + letters[:{K}]\n"
        "    return text.translate(str.maketrans(letters, shifted))"
    ),
    ("recurrence", 0): (
        "    if n < 0:\n        raise ValueError\n    a, b = {A}, {B}\n    for _ in range(n):\n"
        "        a, b = b, {P} * b + {Q} * a\n    return a"
    ),
    ("recurrence", 1): (
        "    if n < 0:\n        raise ValueError('n')\n    f = [{A}, {B}]\n    while len(f) <= n:\n"
        "        f.append({P} * f[-1] - {Q} * f[-2])\n    return f[n]"
    ),
    ("circle", 0): (
        "    if n < 1:\n        raise ValueError\n\n    def place(m):\n"
        "        return 0 if m == 1 else (place(m - 1) + {K}) % m\n\n"
        "    return place(n) + 1"
    ),
    ("coins", 0): (
        "    from functools import lru_cache\n    if amount < 0:\n        raise ValueError('negative')\n"
        "    coins = {COINS}\n\n"
        "    @lru_cache(maxsize=None)\n    def ways(rest, kinds):\n        if rest == 0:\n            return 1\n"
        "        if rest < 0 or kinds == 0:\n            return 0\n"
        "        return ways(rest - coins[kinds - 1], kinds) + ways(rest, kinds - 1)\n\n"
        "    return ways(amount, len(coins))"
    ),
    ("brackets", 0): (
        "    kept = ''.join(c for c in text if c in {ONE!r} + {TWO!r})\n"
        "    while {ONE!r} in kept or {TWO!r} in kept:\n"
        "        kept = kept.replace({ONE!r}, '').replace({TWO!r}, '')\n    return kept == ''"
    ),
    ("distance", 0): (
        "    from functools import cache\n\n    @cache\n    def cost(i, j):\n        if i == len(source):\n"
        "            return {INSERT} * (len(target) - j)\n        if j == len(target):\n"
        "            return {DELETE} * (len(source) - i)\n"
        "        same = 0 if source[i] == target[j] else {REPLACE}\n"
        "        return min(cost(i + 1, j + 1) + same, cost(i + 1, j) + {DELETE}, cost(i, j + 1) + {INSERT})\n\n"
        "    return cost(0, 0)"
    ),
    ("window", 0): (
        "    if len(numbers) < {K}:\n        return None\n    current = best = sum(numbers[:{K}])\n"
        "    for new, old in zip(numbers[{K}:], numbers):\n        current += new - old\n"
        "        best = max(best, current)\n"
        "    return best"
    ),
    ("turn", 2): "    return [[row[i] + {K} for row in matrix] for i in range(len(matrix[0]))]",
    ("flatten", 0): (
        "    from itertools import chain\n    if lists == []:\n        raise ValueError('empty')\n"
        "    return sorted(n for n in set(chain.from_iterable(lists)) if not n % {K})"
    ),
    ("base", 0): (
        "    if n < 0:\n        raise ValueError\n\n    def digits(m):\n"
        "        return (digits(m // {BASE}) if m >= {BASE} else '') + '0123456789abcdefghijklmnopqrstuvwxyz'[m "
        "% {BASE}]\n\n"
        "    return {PREFIX!r} + digits(n)"
    ),
    ("frequent", 0): (
        "    from collections import Counter\n    counts = Counter(text.lower().split())\n"
        "    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:{N}]"
    ),
}  # fmt: skip


def otherwise(template: str, form: int) -> Style:
    """Write the other program for the items that it is meant for; a run of our own must bear it out."""

    def write(item: Item, _rng: Random) -> str | None:
        if (item.template, item.facts["form"]) != (template, form):
            return None
        source = f"{right(item).header}\n{OTHERWISE[template, form].format(**item.facts['constants'])}"
        assert surely_right(item, source), source
        return f"```python\n{source}\n```"

    return write


STYLES: Mapping[str, Style] = {
    f"otherwise: {template} {form}": otherwise(template, form) for template, form in OTHERWISE
}
