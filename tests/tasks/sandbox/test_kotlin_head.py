"""The package of a Kotlin file is replaced where it stands: behind annotations of the file, and among comments."""

import pytest

from data.records import Program
from tasks.sandbox import kotlin_source
from tests.helpers.bounds import bounded

HEADS = {
    "nothing": ("fun f() = 1", " package p1; fun f() = 1\n"),
    "a package": ("package a.b\nfun f() = 1", " package p1\nfun f() = 1\n"),
    "a comment after it": ("package demo // mine\nfun f() = 1", " package p1 // mine\nfun f() = 1\n"),
    "a block after it": ("package demo /* a */ ;\nfun f() = 1", " package p1 /* a */ ;\nfun f() = 1\n"),
    "a semicolon": ("package a; fun f() = 1", " package p1; fun f() = 1\n"),
    "quoted": ("package `a b`.c\nfun f() = 1", " package p1\nfun f() = 1\n"),
    "an annotation": (
        '@file:Suppress("a)", \'(\')\npackage a\nfun f() = 1',
        '@file:Suppress("a)", \'(\')\n package p1\nfun f() = 1\n',
    ),
    "an annotation alone": ("@file:A(B::class)\nfun f() = 1", "@file:A(B::class)\n package p1; fun f() = 1\n"),
    "a list of annotations": (
        '@file:[JvmName("A") Suppress]\n\npackage a\n',
        '@file:[JvmName("A") Suppress]\n\n package p1\n\n',
    ),
    "two, and comments": (
        "// one\n/* two /* three */ */\n@file:A /* four */\n@file:b.C<D>(1)\n// package no\npackage a\n",
        "// one\n/* two /* three */ */\n@file:A /* four */\n@file:b.C<D>(1)\n// package no\n package p1\n\n",
    ),
    "an annotation of a function": ("@JvmStatic fun f() = 1", " package p1; @JvmStatic fun f() = 1\n"),
    "a mark and a first line": ("#!/usr/bin/kotlin\npackage a\n", "#!/usr/bin/kotlin\n package p1\n\n"),
    "a byte order mark": ("\ufeffpackage a\n", " package p1\n\n"),
    "a word that begins so": ("packaged()\n", " package p1; packaged()\n\n"),
    "later, it is text": ('val s = """\npackage a\n"""', ' package p1; val s = """\npackage a\n"""\n'),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADS)
def test_the_package_is_replaced_where_it_stands(name: str) -> None:
    """In its own line, so that an error's line is the source's."""
    source, expected = HEADS[name]
    assert kotlin_source.candidate(Program("kotlin", source, "f", ()), "p1") == expected


PARTS = [
    "@file:",
    "@file:A(",
    "/*",
    "*/",
    '"""',
    "@file:A\n",
    "(",
    "[<",
    "`",
    "package ",
    "// \n",
    "'",
    "@file:[",
    "a.",
    "\\",
]


@pytest.mark.parametrize("part", PARTS)
def test_any_head_is_read_in_linear_time(part: str) -> None:
    """A hundred thousand characters of it, which is the longest source there is."""
    for source in (part * (100_000 // len(part)), "@file:A(" + part * (100_000 // len(part))):
        with bounded(2):
            assert "p1" in kotlin_source.candidate(Program("kotlin", source, "f", ()), "p1")
