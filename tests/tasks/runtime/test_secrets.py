"""A key that comes back is hidden, also percent-encoded, in JSON and in base64; and nothing else is."""

import json
import random
import string
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote

import pytest

from basic_control.data.records import Reply
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.runtime import secrets
from basic_control.tasks.runtime.secrets import HIDDEN, LEAST, hide, is_key, know, mask_keys

KEYS = (
    "sk-proj-Q7x2Lm9Zt4Vb8Nc1Ks5Rw3Yd6",
    'Jh8/Tq+2=Zw7&Lp4<Xn9Bv1"Mc6',
    "hf_RkWzYbXcNdMfPgQhSjTlVm",
)
SPELT: dict[str, Callable[[str], str]] = {
    "plain": str,
    "percent-encoded": lambda key: quote(key, safe=""),
    "percent-encoded in lower case": lambda key: quote(key, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
    "percent-encoded in part": lambda key: quote(key, safe="/+="),
    "every byte percent-encoded": lambda key: "".join(f"%{ord(c):02X}" for c in key),
    "in JSON": lambda key: json.dumps(key)[1:-1],
    "in JSON with its slashes escaped": lambda key: json.dumps(key)[1:-1].replace("/", "\\/"),
    "in JSON for HTML": lambda key: json.dumps(key)[1:-1].replace("&", "\\u0026").replace("<", "\\u003C"),
    "in JSON with every letter escaped": lambda key: "".join(f"\\u{ord(c):04x}" for c in key),
    "in JSON in JSON": lambda key: json.dumps(json.dumps(key)[1:-1])[1:-1],
    "with every letter escaped, in JSON in JSON": lambda key: "".join(f"\\\\\\\\u{ord(c):04x}" for c in key),
    "base64": lambda key: b64encode(key.encode()).decode(),
    "base64 after one more": lambda key: b64encode(f":{key}".encode()).decode(),
    "base64 of basic credentials": lambda key: b64encode(f"me:{key}".encode()).decode(),
    "base64 for URLs": lambda key: urlsafe_b64encode(f"{key}, {key}".encode()).decode(),
}


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_searches", {})
    monkeypatch.setattr(secrets, "_quick", None)
    for key in KEYS:
        know(key)


@pytest.mark.parametrize("form", SPELT)
@pytest.mark.parametrize("key", KEYS)
def test_no_form_of_a_key_is_left(key: str, form: str) -> None:
    spelt = SPELT[form](key)
    text, n = hide(f"Your header was: {spelt}! And again <{spelt}>.")
    assert text.count(HIDDEN) == n >= 2
    # Of base64, neighbours share a character at either end.
    assert not [at for at in range(len(spelt) - 7) if spelt[at : at + 8] in text]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_cut_at_either_end_is_hidden_down_to_twelve_characters_of_its_random_part(key: str) -> None:
    common = len(key) - len(key.removeprefix("sk-proj-").removeprefix("hf_"))
    parts = [key[common:][at : at + LEAST] for at in range(len(key) - common - LEAST + 1)]
    for part in parts:
        assert hide(f"({part})") == (f"({HIDDEN})", 1)
        assert hide(b64encode(part.encode()).decode())[1] <= 1
    assert hide(f"{key[common:][: LEAST - 1]}")[1] == 0, "fewer may stand anywhere by chance"


def test_what_all_keys_of_a_kind_begin_with_and_placeholders_are_no_keys() -> None:
    assert hide("Keys begin with sk-proj- or hf_, set OPENAI_API_KEY=EMPTY or sk-proj-xxxxxxxxxxxxxxxx.")[1] == 0
    assert not any(map(is_key, ("EMPTY", "none", "sk-test-0000", "x" * 40, "sk-proj-" + "ab" * 6, "")))


def test_other_texts_stay_as_they_are() -> None:
    generator = random.Random(7)
    letters = string.ascii_letters + string.digits + "+/=%&;\\ "
    for _ in range(300):
        text = "".join(generator.choices(letters, k=2000))
        assert hide(text) == (text, 0)


def test_a_megabyte_of_a_keys_pieces_is_no_key() -> None:
    piece = KEYS[0][8:14]
    text, n = hide(piece * 160_000)
    assert (len(text), n) == (960_000, 0), "six characters of it, however often, are not twelve"


def test_a_megabyte_of_backslashes_is_searched_at_once() -> None:
    text = "\\" * 1_000_000 + f"u004a\\u{ord('h'):04x}"
    assert hide(text) == (text, 0)


def test_a_reply_is_masked_whole_and_says_how_often() -> None:
    key = KEYS[0]
    reply = Reply(f"It is {key}.", f"I saw {key!r}", "stop", 3, 4, {"retrieved_contexts": [f"a {key}", "b"]})
    found = mask_keys(reply)
    assert key not in json.dumps([found.text, found.reasoning, found.extra])
    assert (found.text, found.extra["hidden_keys"]) == (f"It is {HIDDEN}.", 3)
    assert found.extra["retrieved_contexts"] == [f"a {HIDDEN}", "b"]
    assert (found.tokens_in, found.tokens_out) == (3, 4)
    plain = Reply("nothing here", extra={"usage": {"cached": 1}})
    assert mask_keys(plain) is plain


def test_an_error_never_holds_a_key() -> None:
    error = CallError("invalid", f"HTTP 400: bad key {KEYS[0]}")
    assert error.message == str(error) == f"HTTP 400: bad key {HIDDEN}"


@pytest.mark.parametrize("seed", range(20))
def test_a_key_written_in_any_mix_of_html_entities_is_hidden(seed: int) -> None:
    key, draw = "sk-proj-Q7x2Rt9LmZ4vB8nW1cK6", random.Random(seed)
    secrets.know(key)
    forms = ["{0}", "&#{1};", "&#x{1:x};", "&#X{1:04X};", "&#0{1};", "&#{1:05};"]
    text = "".join(draw.choice(forms).format(character, ord(character)) for character in key)
    assert secrets.hide(f"The key is {text}!") == ("The key is [key hidden]!", 1)
    assert secrets.hide("Salt &amp; pepper &#8211; and more.") == ("Salt &amp; pepper &#8211; and more.", 0)


def test_entities_that_are_no_part_of_a_key_stay_as_they_are() -> None:
    key = "sk-proj-Q7x2Rt9LmZ4vB8nW1cK7"
    secrets.know(key)
    assert secrets.hide(f"{key}: 1 &lt; 2 &amp; 3") == ("[key hidden]: 1 &lt; 2 &amp; 3", 1)


def test_the_middle_of_a_key_in_entities_between_its_ends_is_hidden_with_them() -> None:
    key = "sk-proj-Q7x2Rt9LmZ4vB8nW1cK8Q7x2Rt9LmZ4vB8nW1cK8"
    secrets.know(key)
    middle = "".join(f"&#{ord(character)};" for character in key[20:30])
    assert secrets.hide(f"{key[:20]}{middle}{key[30:]}!") == ("[key hidden]!", 1)
