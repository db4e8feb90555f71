"""Stage 7: which sentences become bullets, in which order, and how they are cited."""

from __future__ import annotations

import pytest
from attrs import evolve
from tests.discovery.discovery_builders import chunk

from cairn.discovery import BulletCategory, CompressionConfig, compress_evidence

FILLER = "and so it goes on for a while"


def run(chunks, query="", max_bullets=20, max_per_doc=3, **config):
    return compress_evidence(chunks, max_bullets, max_per_doc, CompressionConfig(**config), query=query)


def texts(bullets):
    return [bullet.text for bullet in bullets]


def test_the_example_of_s1():
    content = "Vectorizer is a high-performance vector database. It supports semantic search."
    [found] = run([chunk(content, 0.85)], min_sentence_words=5, max_bullets=1)
    assert found.text == "Vectorizer is a high-performance vector database."
    assert found.category is BulletCategory.DEFINITION
    assert found.score == pytest.approx(0.85)
    assert (found.source_id, found.path, found.collection) == (
        "demo-docs#0",
        "docs/guide.md",
        "demo-docs",
    )


def test_short_sentences_are_read_on_into_each_other():
    text = "Cairn is a discovery language server. It cites its lines. Yes. This is a sentence that is long enough alone."
    texts = {b.text for b in compress_evidence([chunk(text)], 10, 3, CompressionConfig())}
    assert texts == {
        "Cairn is a discovery language server. It cites its lines.",
        "This is a sentence that is long enough alone.",
    }


def test_bullets_cite_the_lines_they_stand_on():
    content = "# Title\n\n- The first item of the list\n  goes on over two lines.\n\nOne. The second sentence starts in the\nmiddle of a line. Two."
    found = {b.text: b.citation for b in run([chunk(content)])}
    assert found == {
        "The first item of the list goes on over two lines.": "docs/guide.md#L13-L14",
        "The second sentence starts in the middle of a line.": "docs/guide.md#L16-L17",
    }


def test_without_citations_or_known_lines_the_path_stands_alone():
    content = "The first item of the list goes on."
    assert run([chunk(content)], include_citations=False)[0].citation == "docs/guide.md"
    assert run([chunk(content, line_range=None)])[0].citation == "docs/guide.md"


@pytest.mark.parametrize(("words", "kept"), [(7, False), (8, True), (30, True), (31, False)])
def test_bullets_lie_in_the_word_window(words, kept):
    content = " ".join(["Word"] + ["word"] * (words - 2) + ["end."])
    assert bool(run([chunk(content)])) is kept


@pytest.mark.parametrize(
    "content",
    [
        "Do you know how to start the server in the background?",
        "To start the server in the background, run the following command:",
        "You can change the time after which the server stops...",
        "Given that you have added several interceptors to the list\n- one\n- two",
        "[![Build](https://x.y/z.svg)](https://x.y) [![Docs](https://x.y/d.svg)](https://x.y) all of the badges here",
        "Set it with client.get(url, timeout=5) # this one waits for five seconds",
        "The half of a sentence (that opens a bracket but does not close it",
        "```\nThe sentence stands in a fence and is no evidence at all.\n```",
        "| The sentence | stands in a table | and is | no evidence | at all. |",
        "## The heading is long enough to be a bullet but is none",
        "a = 1; b = 2; c = 3; d = 4; e = 5; f = 6;",
    ],
)
def test_what_says_nothing_by_itself_is_no_evidence(content):
    assert run([chunk(content)]) == []


def test_inline_markup_is_stripped_and_code_spans_stay():
    text = "The `run` command of **cairn** reads [the guide](a.md) and *nothing* else[^1]."
    expected = "The `run` command of cairn reads the guide and nothing else."
    assert texts(run([chunk(f"* {text}")])) == [expected]


def test_sentences_that_hold_the_terms_of_the_question_win():
    content = f"The parser {FILLER}. Sessions are signed with a secret key {FILLER}. The cookie {FILLER}."
    found = texts(run([chunk(content)], query="how are session cookies signed"))
    assert [text.split()[0] + text.split()[1] for text in found] == ["Sessionsare", "Thecookie", "Theparser"]


def test_first_sentences_win_where_nothing_else_tells():
    content = f"The first {FILLER}. The second {FILLER}. The third {FILLER}."
    one, two, three = run([chunk(content, 0.8)])
    assert [b.text.split()[1] for b in (one, two, three)] == ["first", "second", "third"]
    assert (one.score, two.score) == (pytest.approx(0.8), pytest.approx(0.8 * (2 + 0.8) / 3))
    assert [b.score for b in run([chunk(content, 0.8)], prefer_starts=False)] == [pytest.approx(0.8)] * 3


def test_a_sentence_that_leans_on_another_loses_to_one_that_stands_alone():
    content = f"This router {FILLER}. The router {FILLER}."
    assert texts(run([chunk(content)], query="router"))[0].startswith("The router")


def test_a_definition_wins_where_one_is_asked_for():
    content = f"Flask apps run anywhere {FILLER}. Flask is a lightweight web framework {FILLER}."
    assert texts(run([chunk(content)], query="what is flask"))[0].startswith("Flask is a")
    assert texts(run([chunk(content)], query="O que é o flask?"))[0].startswith("Flask is a")
    assert texts(run([chunk(content)], query="flask apps"))[0].startswith("Flask apps")


def test_a_better_chunk_gives_better_bullets():
    chunks = [chunk(f"The first {FILLER}.", 0.4), chunk(f"Another one {FILLER}.", 0.9, "b.md")]
    assert [b.path for b in run(chunks)] == ["b.md", "docs/guide.md"]


def test_scores_of_promoted_readmes_are_brought_down_to_one():
    chunks = [chunk(f"The first {FILLER}.", 1.5, "README.md"), chunk(f"Another one {FILLER}.", 0.75)]
    assert [b.score for b in run(chunks)] == [pytest.approx(1.0), pytest.approx(0.5)]


def test_a_chunk_gives_at_most_three_bullets_and_a_document_as_many_chunks_as_asked():
    chunks = [
        chunk(
            " ".join(f"Sentence {i}{s} has {i}{s}a {i}{s}b of {i}{s}c its own words." for s in "vwxyz"),
            index=i,
        )
        for i in range(5)
    ]
    assert len(run(chunks, max_per_doc=2)) == 6
    assert {b.source_id for b in run(chunks, max_per_doc=2)} == {"demo-docs#0", "demo-docs#1"}
    assert len(run(chunks, max_per_doc=2, max_bullets=4)) == 4


def test_a_chunk_without_evidence_does_not_use_up_its_document():
    chunks = [chunk("Nothing.", index=0), chunk(f"The only one {FILLER}.", index=1)]
    assert len(run(chunks, max_per_doc=1)) == 1


def test_nearly_equal_bullets_are_one():
    chunks = [
        chunk(f"The router {FILLER}.", 0.6, "a.md"),
        chunk(f"The  router\n{FILLER}!", 0.7, "b.md"),
        chunk("Something else altogether is said in this other file.", 0.5, "c.md"),
    ]
    assert [b.path for b in run(chunks)] == ["b.md", "c.md"]


def test_sources_that_would_share_an_id_are_told_apart():
    chunks = [
        chunk(f"The {name} says something of its own {i}{i} {FILLER}.", 0.9 - i / 10, f"{name}.md")
        for i, name in enumerate(("first", "second", "third"))
    ]
    chunks.append(chunk("First says yet another thing in the very same chunk.", 0.1, "first.md", index=1))
    assert [b.source_id for b in run(chunks)] == [
        "demo-docs#0",
        "demo-docs#0.2",
        "demo-docs#0.3",
        "demo-docs#1",
    ]


def test_the_order_of_equals_does_not_depend_on_the_order_of_chunks():
    chunks = [chunk(f"Number {i}{i}{i} {i} says {FILLER}.", 0.5, f"{i}.md") for i in range(5)]
    assert texts(run(chunks)) == texts(run(chunks[::-1]))


@pytest.mark.parametrize(("chunks", "limits"), [([], (9, 9)), (["x"], (0, 9)), (["x"], (9, 0))])
def test_nothing_gives_nothing(chunks, limits):
    given = [chunk(f"The first {FILLER}.") for _ in chunks]
    assert compress_evidence(given, *limits, CompressionConfig()) == []


@pytest.mark.parametrize("content", ["", "\n\n", "   ", "```", "---\n", "\x00\x01", "/*", '"""'])
def test_empty_and_broken_chunks_hold_no_evidence(content):
    assert run([chunk(content)]) == []
    assert run([chunk(content, path="a.py", chunk_type="code", language="python")]) == []


def test_a_passage_that_runs_past_its_lines_cites_all_of_them():
    cell = (
        "The first sentence of a notebook's cell has nine words.\nThe second one is on the next line of it.\n"
    )
    (given,) = [chunk(cell, path="analysis.ipynb", line_range=(4, 5))]
    bullets = compress_evidence([given], 20, 3, CompressionConfig())
    assert {bullet.lines for bullet in bullets} == {(4, 5)}


def test_an_overview_has_sentences_about_its_subject_alone():
    life = chunk(
        "Harbour is maintained by ada and bob since long ago.",
        1.0,
        "README.md",
        header_path="Harbour > Maintainers",
    )
    about = chunk(
        "Many big ports of the world use it by now.\n\nA harbour-tides plugin is a companion of it that knows tides.\n\nHarbour is a planner for the moorings of big ports.\n",
        0.6,
    )
    assert texts(run([life, about], "what is harbour")) == [
        "Harbour is a planner for the moorings of big ports."
    ]


def test_where_nothing_is_about_the_subject_sentences_that_hold_its_words_are_kept():
    given = chunk("In most big ports there may be one harbour.")
    assert texts(run([given], "what is harbour")) == [given.content]


def test_what_a_readme_begins_with_says_what_its_project_is():
    given = chunk(
        "# harbour\n\nMoorings for each ship.\n\nRun this on each and every quay of the port.\n",
        0.6,
        "README.md",
        header_path="harbour",
    )
    found = run([evolve(given, metadata=evolve(given.metadata, line_range=(0, 5)))], "what is harbour")
    assert (found[0].text, found[0].category) == ("Moorings for each ship.", BulletCategory.DEFINITION)
    assert "Moorings for each ship." not in texts(run([given], "how are ships moored by everybody"))


def test_what_a_readme_begins_with_gives_way_to_a_sentence_that_says_what_its_project_is():
    given = chunk(
        "# harbour\n\nAda Lovelace and Bob Smith.\n\nHarbour is a planner for the moorings of big ports.\n",
        0.6,
        "README.md",
        header_path="harbour",
        line_range=(0, 5),
    )
    assert texts(run([given], "what is harbour")) == ["Harbour is a planner for the moorings of big ports."]


def test_an_overview_quotes_no_code_that_only_uses_its_subject():
    code = chunk(
        'def moor(ship):\n    """Asks harbour where the ship is to be moored at night."""\n',
        path="src/moor.py",
        collection="demo-source",
        chunk_type="code",
        language="python",
        signature="def moor(ship):",
    )
    script = chunk('complete -c harbour -l tides -d "Ask for the tides of the day"', path="harbour.fish.in")
    about = chunk("Harbour is a planner for the moorings of big ports.", 0.6)
    assert texts(run([code, script, about], "what is harbour")) == [about.content]


def test_where_the_subject_is_introduced_its_words_alone_make_no_evidence():
    manifest = chunk('"description": "Plans moorings."', 0.9, "package.json", collection="harbour-config")
    plugins = chunk("In most big ports there may be one harbour.", 0.9)
    assert run([manifest, plugins], "what is harbour") == []
