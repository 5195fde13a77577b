"""Prompts in a language that plug-ins bring."""

import hashlib
from pathlib import Path

import pytest

from basic_control.data import plugins
from basic_control.prompts import digest_template, languages, render


def test_prompts_of_a_language_of_ones_own_are_used_and_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge's passport and a reply's identity name them by their content, like the shipped ones."""
    monkeypatch.setenv(plugins.VARIABLE, str(tmp_path))
    own = tmp_path / "xx" / "rubric" / "rate.j2"
    own.parent.mkdir(parents=True)
    own.write_text("Bewerte: {{ response }}", encoding="utf-8")
    assert "xx" in languages("rubric/rate")
    assert render("rubric/rate", "xx", response="so") == "Bewerte: so"
    assert digest_template("rubric/rate", "xx") == hashlib.sha256(own.read_bytes()).hexdigest()
    shipped = Path(plugins.__file__).parents[1] / "prompts" / "en" / "rubric" / "rate.j2"
    assert digest_template("rubric/rate", "en") == hashlib.sha256(shipped.read_bytes()).hexdigest()
