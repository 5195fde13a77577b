"""The head of a Kotlin file: where its package stands, behind annotations of the file and comments."""

import re

_IDENTIFIER = r"(?:`[^`\n]+`|\w+)"
_NAME = rf"{_IDENTIFIER}(?:[ \t]*\.[ \t]*{_IDENTIFIER})*"
_PACKAGE = re.compile(rf"package(?:[ \t]+(?=[\w`])|(?=`)){_NAME}")
_SPACE = re.compile(r"\s+|//[^\n]*")
_COMMENT_MARK = re.compile(r"/\*|\*/")
_FILE = re.compile(r"@[ \t]*file[ \t]*:[ \t]*")
_LINE_TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')
_QUOTES = re.compile(r'"{3,}')
_PLAIN = re.compile(r"[^\s()\[\]<>\"\'/]+")
_PAIRS = {"(": ")", "[": "]", "<": ">"}


def package(source: str) -> tuple[int, int]:
    """Return where the package directive begins and ends; where one may be put, twice, if there is none."""
    place = source.find("\n") if source.startswith("#!") else 0
    place = len(source) if place < 0 else place
    while True:
        place = end = _trivia(source, place)
        if head := _FILE.match(source, place):
            end = _annotation(source, head.end())
        if end == place:
            break
        place = end
    found = _PACKAGE.match(source, place)
    return (place, found.end()) if found else (place, place)


def _trivia(source: str, place: int) -> int:
    """Pass over space and comments, which nest in Kotlin; stay before a comment that does not end."""
    while True:
        if space := _SPACE.match(source, place):
            place = space.end()
        elif source.startswith("/*", place):
            end = _comment(source, place)
            if end == place:
                return place
            place = end
        else:
            return place


def _comment(source: str, start: int) -> int:
    depth = 0
    for mark in _COMMENT_MARK.finditer(source, start):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return start


def _annotation(source: str, start: int) -> int:
    """Pass over what follows `@file:`: a list in brackets, or a name with type arguments and arguments."""
    place, bracketed = start, source.startswith("[", start)
    if not bracketed:
        name = re.compile(_NAME).match(source, start)
        place = name.end() if name else start
        if source.startswith("<", place):
            place = _group(source, place)
    if source.startswith("[" if bracketed else "(", place):
        place = _group(source, place)
    return place


def _group(source: str, start: int) -> int:
    """Pass over a group in brackets, with the groups, texts and comments in it; or to the end."""
    place, open_ = start, []
    while place < len(source):
        character = source[place]
        if character in _PAIRS:
            open_.append(_PAIRS[character])
            place += 1
        elif open_[-1] == character:
            open_.pop()
            place += 1
            if not open_:
                return place
        elif character in "\"'":
            place = _text(source, place)
        elif plain := _PLAIN.match(source, place):
            place = plain.end()
        elif (end := _trivia(source, place)) > place:
            place = end
        elif source.startswith("/*", place):
            return len(source)
        else:
            place += 1
    return place


def _text(source: str, start: int) -> int:
    if source.startswith('"""', start):
        closing = _QUOTES.search(source, start + 3)
        return closing.end() if closing else len(source)
    found = _LINE_TEXT.match(source, start)
    return found.end() if found else len(source)
