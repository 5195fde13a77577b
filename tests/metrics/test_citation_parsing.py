"""How a cited answer is taken apart: markers, claims, uncited sentences, source lists."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from basic_control.data.sentences import count_words, split_sentences
from basic_control.metrics.citation.answers import CitedAnswer, parse_answer
from basic_control.metrics.citation.markers import WIDEST
from tests.helpers.bounds import bounded


def cites(text: str) -> list[tuple[int, str]]:
    return [(one.number, one.claim) for one in parse_answer(text).citations]


def numbers(text: str) -> list[int]:
    return [one.number for one in parse_answer(text).citations]


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("[1]", [1]), ("[1, 2]", [1, 2]), ("[1,2]", [1, 2]), ("[1][3]", [1, 3]), ("[1] [3]", [1, 3]),
        ("[1], [3]", [1, 3]), ("[1-3]", [1, 2, 3]), ("[1–3, 7]", [1, 2, 3, 7]), ("[0]", [0]), ("[^1]", [1]),
        ("【1】", [1]), ("［１，２］", [1, 2]), ("【1†source】", [1]), ("[Passage 2]", [2]),
        ("[doc 1; doc 2]", [1, 2]),
        ("[источник 2]", [2]), ("[来源1]", [1]), ("[ 1 ]", [1]), ("[01]", [1]), ("[1][1]", [1]), ("[99]", [99]),
        ("[1 and 2]", [1, 2]), ("[1, 2, and 4]", [1, 2, 4]), ("[1 и 2]", [1, 2]), ("[1和2]", [1, 2]),
        ("[1]–[3]", [1, 2, 3]), ("([1])", [1]), ("([1], [2])", [1, 2]), ("**[1]**", [1]), ("[[1]]", [1]),
        ("<sup>[1]</sup>", [1]), ("[3-1]", [3, 1]),
        ("[1-999999999]", [1, 999999999]), ("[99999999999999999999]", [10**9]),
    ],
)  # fmt: skip
def test_every_way_of_marking_is_read_before_and_after_the_full_stop(marker: str, expected: list[int]) -> None:
    assert numbers(f"The ship sank in the cold sea {marker}.") == expected
    assert numbers(f"The ship sank in the cold sea{marker}.") == expected
    assert numbers(f"The ship sank in the cold sea.{marker}") == expected
    assert numbers(f"The ship sank in the cold sea. {marker} Then the rest of it.") == expected
    answer = parse_answer(f"The ship sank in the cold sea {marker}.")
    assert answer.text == "The ship sank in the cold sea."


@pytest.mark.parametrize("text", ["[sic]", "[a]", "a[i]", "[]", "[-1]", "[1.5]", "array[", "[1", "1]", "[one]"])
def test_what_is_no_marker_stays_text(text: str) -> None:
    assert numbers(f"The ship sank in the cold sea {text}.") == []


def test_a_claim_is_the_clause_or_the_sentence_that_the_marker_ends() -> None:
    text = (
        "The RMS Titanic sank on April 15, 1912 [1]. It is estimated that more than 1,500 people lost their lives "
        "in the disaster [2], although some sources put the death toll as high as 1,635 [3]."
    )
    assert cites(text) == [
        (1, "The RMS Titanic sank on April 15, 1912"),
        (2, "It is estimated that more than 1,500 people lost their lives in the disaster"),
        (3, "although some sources put the death toll as high as 1,635"),
    ]


def test_a_clause_too_short_to_be_a_claim_stands_for_its_whole_sentence() -> None:
    whole = "Paris and Lyon are cities of France."
    assert cites("Paris [1] and Lyon [2] are cities of France.") == [(1, whole), (2, whole)]


def test_a_marker_after_the_stop_belongs_to_the_sentence_before_and_one_that_opens_a_line_to_that_line() -> None:
    assert cites("The ship sank at dawn.[1] Many people died then.[2]") == [
        (1, "The ship sank at dawn."),
        (2, "Many people died then."),
    ]
    assert cites("[1] The ship sank at dawn.\n[2] Many people died then.") == [
        (1, "The ship sank at dawn."),
        (2, "Many people died then."),
    ]
    assert cites("泰坦尼克号于一九一二年沉没。[1]约一千五百人在海难中遇难。[2]") == [
        (1, "泰坦尼克号于一九一二年沉没。"),
        (2, "约一千五百人在海难中遇难。"),
    ]


def uncited(text: str) -> list[str]:
    return [one.text for one in parse_answer(text).sentences if one.counted and not one.cited]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The ship sank at dawn [1]. Many people died then.", ["Many people died then."]),
        ("Yes, it sank. It was 15 April [1].", []),
        ("Do you want to know more? It sank at dawn [1].", []),
        ("Dr. J. K. Smith of the U.S. wrote it [1].", []),
        ("## The sinking of the great ship\nIt sank at dawn [1].", []),
        ("- The ship sank at dawn [1]\n- Many people died that night", ["- Many people died that night"]),
        ("В 1912 г. «Титаник» затонул [1]. Погибло более 1500 человек.", ["Погибло более 1500 человек."]),
        ("船沉没了[1]。大约一千五百人遇难。真的是这样的吗？", ["大约一千五百人遇难。"]),
        ("", []),
    ],
)
def test_sentences_of_four_words_without_a_marker_are_counted_and_questions_are_not(
    text: str, expected: list[str]
) -> None:
    assert uncited(text) == expected


SOURCES = [
    'Sources:\n[1] Titanic - Wikipedia, https://w.org/Titanic, "The ship sank on 15 April 1912."',
    "**References**\n1. Titanic - Wikipedia. https://w.org/Titanic. “The ship sank on 15 April 1912.”",
    '## Sources\n\n- [1] [Titanic - Wikipedia](https://w.org/Titanic): "The ship sank on 15 April 1912."',
    "Источники:\n[1] Titanic - Wikipedia (https://w.org/Titanic) — «The ship sank on 15 April 1912.»",
    "来源：\n【1】Titanic - Wikipedia，https://w.org/Titanic，“The ship sank on 15 April 1912.”",
    ("References:\n[1] Title: Titanic - Wikipedia\n  URL: https://w.org/Titanic\n"
    '  Quote: "The ship sank on 15 April 1912."'),
    "Sources:\n[1] Titanic - Wikipedia\nhttps://w.org/Titanic\n> The ship sank on 15 April 1912.",
    '[1] Titanic - Wikipedia https://w.org/Titanic "The ship sank on 15 April 1912."',
    '[^1]: Titanic - Wikipedia, <https://w.org/Titanic>. "The ship sank on 15 April 1912."',
    'Sources: [1] Titanic - Wikipedia, https://w.org/Titanic, "The ship sank on 15 April 1912."',
]  # fmt: skip


@pytest.mark.parametrize("listed", SOURCES)
def test_a_list_of_sources_gives_title_url_and_quote_in_every_layout(listed: str) -> None:
    answer = parse_answer(f"The ship sank at dawn [1].\n\n{listed}\n")
    assert answer.text == "The ship sank at dawn."
    (source,) = answer.sources.values()
    assert (source.number, source.title, source.url) == (
        1,
        "Titanic - Wikipedia",
        "https://w.org/Titanic",
    )
    assert source.quote.rstrip(".") == "The ship sank on 15 April 1912"
    assert [one.number for one in answer.citations] == [1]


def test_several_sources_on_one_line_and_urls_with_brackets() -> None:
    answer = parse_answer(
        "It was a planet [1]. \nSources: [1] https://a.org/Mercury_(planet); [2] (https://b.org/x)."
    )
    assert {n: s.url for n, s in answer.sources.items()} == {
        1: "https://a.org/Mercury_(planet)",
        2: "https://b.org/x",
    }


def test_a_title_in_quotation_marks_before_its_url_is_no_quote() -> None:
    answer = parse_answer(
        'See it here [1].\nSources:\n[1] "The sinking of the great ship Titanic", https://a.org/x'
    )
    assert (answer.sources[1].quote, answer.sources[1].title) == ("", "The sinking of the great ship Titanic")


def test_a_sentence_that_begins_like_a_heading_is_no_list() -> None:
    text = "Sources: they differ on this point [1]."
    assert parse_answer(text).sources == {}
    assert numbers(text) == [1]


def test_markdown_links_are_citations_of_numbered_sources() -> None:
    answer = parse_answer("It sank at dawn [Wiki](https://a.org/x). It was cold there [2](https://b.org/y) [1].", 5)
    assert [(one.number, answer.sources[one.number].url) for one in answer.citations if one.number != 1] == [
        (6, "https://a.org/x"),
        (2, "https://b.org/y"),
    ]


def test_a_number_in_double_brackets_keeps_its_link() -> None:
    answer = parse_answer("It sank at dawn [[1]](https://a.org/x)[[2]](https://b.org/y).")
    assert answer.text == "It sank at dawn."
    assert {n: source.url for n, source in answer.sources.items()} == {1: "https://a.org/x", 2: "https://b.org/y"}


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("The [Titanic](https://w.org/Titanic) sank at dawn.", "The Titanic sank at dawn."),
        ("[Titanic](https://titanic.org/x) sank at dawn.", "Titanic sank at dawn."),
        ("Radium was found by [Marie Curie](https://w.org/x).", "Radium was found by Marie Curie."),
        ("Корабль [«Титаник»](https://w.org/x) затонул.", "Корабль «Титаник» затонул."),
        ("[泰坦尼克号](https://w.org/x)于1912年沉没。", "泰坦尼克号于1912年沉没。"),
        ("It sank at dawn [Wikipedia](https://en.wikipedia.org/x).", "It sank at dawn."),
        ("It sank at dawn [RMS Titanic - Wiki](https://w.org/x).", "It sank at dawn."),
        ("It sank at dawn. [The ship](https://w.org/x) It was cold.", "It sank at dawn. It was cold."),
    ],
)
def test_a_links_label_stays_where_its_sentence_needs_it_and_goes_where_it_names_a_source(
    text: str, body: str
) -> None:
    answer = parse_answer(text)
    assert answer.text == body
    assert [one.number for one in answer.citations] == [1]


def test_an_answer_in_json_gives_text_markers_and_sources() -> None:
    answer = parse_answer(
        '```json\n{"answer": "It sank in April 1912 [1]. Nobody knew it then.", "citations": '
        '[{"number": 1, "title": "Titanic", "url": "https://a.org", "quote": "sank in April"}]}\n```'
    )
    assert [(one.number, one.claim) for one in answer.citations] == [(1, "It sank in April 1912")]
    assert [(s.title, s.url, s.quote) for s in answer.sources.values()] == [
        ("Titanic", "https://a.org", "sank in April")
    ]
    assert [one.text for one in answer.sentences if one.counted and not one.cited] == ["Nobody knew it then."]


def test_claims_tied_to_sources_in_json_stand_for_markers() -> None:
    answer = parse_answer(
        '{"answer": "The ship sank in April 1912. Nobody knew it then.", "sources": '
        '[{"id": "[1]", "url": "https://a.org", "claim": "The ship sank in April 1912"}]}'
    )
    assert [(one.number, one.claim, one.sentence) for one in answer.citations] == [
        (1, "The ship sank in April 1912", 0)
    ]
    assert [one.cited for one in answer.sentences] == [True, False]


def test_thinking_is_no_part_of_the_answer() -> None:
    assert cites("<think>It sank in 1911 [7].</think>It sank in April 1912 [1].") == [(1, "It sank in April 1912")]


def test_a_wide_range_is_bounded_and_still_cited() -> None:
    assert len(numbers(f"It sank in the sea [1-{WIDEST}].")) == WIDEST
    assert numbers(f"It sank in the sea [1-{WIDEST + 1}].") == [1, WIDEST + 1]


@given(st.text(alphabet='aБ中 .,[]【】(^-–0123,\n#>*"?!:/Sources', max_size=120))
def test_any_text_is_taken_apart_without_an_error_and_every_claim_is_named(text: str) -> None:
    answer = parse_answer(text)
    assert isinstance(answer, CitedAnswer)
    for one in answer.citations:
        assert 0 <= one.number <= 10**9
        assert answer.sentences[one.sentence].cited


@given(st.lists(st.integers(0, 40), min_size=1, max_size=6, unique=True))
def test_no_number_of_a_marker_is_lost(wanted: list[int]) -> None:
    assert numbers(f"The ship sank in the sea [{', '.join(map(str, wanted))}].") == wanted
    assert numbers("The ship sank in the sea " + "".join(f"[{n}]" for n in wanted) + ".") == wanted


@pytest.mark.parametrize(
    "unit",
    ["[1]", "[1,", "[", "A b c d [1]. ", "[1-99]", "[^1]: http://a.b\n", "[x](http://a", "- http://x.y\n",
     '"', "> ",
     "Sources:\n[1] http://a\n", "[1](http://(", "1. ", "* ", "\n", "[1](a://b)",
     "([1]", "[[1]", "**[1]", "([1], ", "[1]–[3]", "[1 and ", "a [b](http://c) ", "-[1]", "*[1] "],
)  # fmt: skip
def test_fifty_kilobytes_of_hostile_text_take_little_time(unit: str) -> None:
    with bounded(2.5):  # a third of a second; quadratic work would take half a minute
        parse_answer.__wrapped__(unit * (50_000 // len(unit)))


def test_sentences_end_where_readers_end_them() -> None:
    def split(text: str) -> list[str]:
        return [text[start:end] for start, end in split_sentences(text)]

    assert split("Mr. A. B. Cole paid 3.50 at 5 p.m. today. He left! Why? No... idea.") == [
        "Mr. A. B. Cole paid 3.50 at 5 p.m. today.", "He left!", "Why?", "No... idea.",
    ]  # fmt: skip
    assert split("А. С. Пушкин родился в 1799 г. в Москве, на ул. Немецкой. Он был поэтом.") == [
        "А. С. Пушкин родился в 1799 г. в Москве, на ул. Немецкой.", "Он был поэтом.",
    ]  # fmt: skip
    assert split("北京是首都。它很大！是吗？") == ["北京是首都。", "它很大！", "是吗？"]


def test_words_are_counted_in_three_languages() -> None:
    assert count_words("It's a well-known fact, 1,500 people") == 6
    assert count_words("Он родился в 1799 году") == 5
    assert count_words("泰坦尼克号沉没") == 4


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("The ship sank in 1912. This is stated in Document [2].", [("The ship sank in 1912.", [2])]),
        ("The ship sank in 1912 [1]. See Document 3.", [("The ship sank in 1912.", [1, 3])]),
        ("Корабль затонул в 1912 году. Об этом сказано в документе [2].", [("Корабль затонул в 1912 году.", [2])]),
        ("这艘船于1912年沉没。参见文档[2]。", [("这艘船于1912年沉没。", [2])]),
        (
            "In Roe v. Wade the court ruled in 1973 [1]. It was overruled later [2].",
            [("In Roe v. Wade the court ruled in 1973.", [1]), ("It was overruled later.", [2])],
        ),
        ("В 44 г. до н. э. Цезарь был убит [1].", [("В 44 г. до н. э. Цезарь был убит.", [1])]),
        ("Document 2 says that the ship sank.", [("Document 2 says that the ship sank.", [2])]),
    ],
)
def test_a_sentence_that_only_points_gives_its_citations_to_the_one_before(
    text: str, claims: list[tuple[str, list[int]]]
) -> None:
    found = parse_answer(text, 5)
    cited = [
        [one.number for one in found.citations if one.sentence == place] for place in range(len(found.sentences))
    ]
    assert [(one.text, numbers) for one, numbers in zip(found.sentences, cited, strict=True)] == claims


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("It sank. http://example.org It rose (www.example.org/b).", ["http://example.org", "www.example.org/b"]),
        ("The ship sank (source: https://example.org/a_(b)).", ["https://example.org/a_(b)"]),
        ("The ship [sank](https://example.org/a) there.", ["https://example.org/a"]),
    ],
)  # fmt: skip
def test_bare_addresses_are_sources_of_their_own(text: str, urls: list[str]) -> None:
    found = parse_answer(text)
    assert [found.sources[one.number].url for one in found.citations] == urls
    assert "://" not in found.text
