"""The people and addresses of the extraction family's letters, compared with pymorphy3 and email-validator."""

import re

import pymorphy3
from email_validator import validate_email

from basic_control.generators.data_extraction.entities import (
    DOMAINS,
    MAILBOXES,
    read_email,
)
from basic_control.generators.data_extraction.letters import people


def test_russian_names_are_inflected_as_pymorphy_does() -> None:
    """Dative and instrumental of every given name and surname, and the gender of the verb's ending."""
    morph = pymorphy3.MorphAnalyzer()

    def inflected(word: str, case: str, tag: str, gender: str) -> set[str]:
        parses = [p for p in morph.parse(word) if {tag, "nomn", "sing", gender} <= p.tag.grammemes]
        forms = {form.word for p in parses if (form := p.inflect({case, "sing"}))}
        return {form.replace("ё", "е") for form in forms}

    for person in people("ru", "ru"):
        gender = "femn" if person.a else "masc"
        for case, form in (("datv", person.d), ("ablt", person.i)):
            for word, cased, tag in zip(person.n.split(), form.split(), ("Name", "Surn"), strict=True):
                accepted = inflected(word, case, tag, gender)
                # pymorphy3 also knows -ою beside -ой: both are right.
                assert cased.lower().replace("ё", "е") in accepted | {f[:-1] + "й" for f in accepted}, (word, cased)


def test_addresses_are_valid_and_lead_nowhere() -> None:
    """All are under example.com, example.org and example.net, which are kept for such use."""
    assert (
        len({validate_email(f"{box}@{DOMAINS[0]}", check_deliverability=False).normalized for box in MAILBOXES})
        == 10
    )
    for domain in DOMAINS:
        validate_email(f"a.b_c@{domain}", check_deliverability=False)
        assert re.fullmatch(r"[a-z]+\.example\.(com|org|net)", domain)
        assert read_email(f"a.b_c@{domain}") == f"a.b_c@{domain}"
