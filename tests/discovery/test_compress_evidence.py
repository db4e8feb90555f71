"""Stage 7: which sentences become bullets, in which order, and how they are cited."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.discovery.discovery_builders import CHUNKS, chunk

from cairn.discovery.compression import compress_evidence
from cairn.settings.discovery import BulletCategory, CompressionConfig

FILLER = "and so it goes on for a while"


def run(chunks, query="", max_bullets=20, max_per_doc=3, **config):
    return compress_evidence(chunks, max_bullets, max_per_doc, CompressionConfig(**config), query=query)


def texts(bullets):
    return [bullet.text for bullet in bullets]


def test_bullet_has_text_category_score_and_source():
    content = "Vectorizer is a high-performance vector database. It supports semantic search."
    [found] = run([chunk(content, 0.85)], min_sentence_words=5, max_bullets=1)
    assert found.text == "Vectorizer is a high-performance vector database."
    assert found.category is BulletCategory.DEFINITION
    assert found.score == pytest.approx(0.85)
    place = (found.source_id, found.path, found.collection)
    assert place == ("demo-docs#0", "docs/guide.md", "demo-docs")


def test_short_sentences_are_joined():
    text = (
        "Cairn is a discovery language server. It cites its lines. Yes. "
        "This is a sentence that is long enough alone."
    )
    assert set(texts(run([chunk(text)]))) == {
        "Cairn is a discovery language server. It cites its lines.",
        "This is a sentence that is long enough alone.",
    }


def test_bullets_cite_their_lines():
    content = (
        "# Title\n\n- The first item of the list\n  goes on over two lines.\n\n"
        "The first sentence has the whole line for itself.\n"
        "The second one starts in the\nmiddle of a text. Two."
    )
    found = {b.text: b.citation for b in run([chunk(content)])}
    assert found == {
        "The first item of the list goes on over two lines.": "docs/guide.md#L13-L14",
        "The first sentence has the whole line for itself.": "docs/guide.md#L16-L16",
        "The second one starts in the middle of a text.": "docs/guide.md#L17-L18",
    }


def test_without_citations_or_known_lines_the_path_is_cited():
    content = "The first item of the list goes on."
    assert run([chunk(content)], include_citations=False)[0].citation == "docs/guide.md"
    assert run([chunk(content, line_range=None)])[0].citation == "docs/guide.md"


@pytest.mark.parametrize(("words", "kept"), [(7, False), (8, True), (30, True), (31, False)])
def test_bullets_have_a_limited_number_of_words(words, kept):
    content = " ".join(["Word"] + ["word"] * (words - 2) + ["end."])
    assert bool(run([chunk(content)])) is kept


@pytest.mark.parametrize(
    "content",
    [
        "Do you know how to start the server in the background?",
        "To start the server in the background, run the following command:",
        "You can change the time after which the server stops...",
        (
            "[![Build](https://x.y/z.svg)](https://x.y) [![Docs](https://x.y/d.svg)](https://x.y) all of "
            "the badges"
        ),
        "Set it with client.get(url, timeout=5) # this one waits for five seconds",
        "The half of a sentence (that opens a bracket but does not close it",
        "```\nThe sentence is in a fence and not any evidence at all.\n```",
        "| The sentence | is in a table | and is not | any evidence | at all. |",
        "## The heading is long enough to be a bullet but is not one",
        "a = 1; b = 2; c = 3; d = 4; e = 5; f = 6;",
    ],
)
def test_incomplete_statements_are_not_evidence(content):
    assert run([chunk(content)]) == []


def test_inline_markup_is_removed_and_code_spans_are_kept():
    text = "The `run` command of **cairn** reads [the guide](a.md) and *nothing* else[^1]."
    expected = "The `run` command of cairn reads the guide and nothing else."
    assert texts(run([chunk(f"* {text}")])) == [expected]


def test_sentences_with_the_terms_of_the_question_win():
    content = f"The parser {FILLER}. Sessions are signed with a secret key {FILLER}. The cookie {FILLER}."
    found = texts(run([chunk(content)], query="how are session cookies signed"))
    assert [text.split()[0] + text.split()[1] for text in found] == ["Sessionsare", "Thecookie", "Theparser"]


def test_first_sentences_win_ties():
    content = f"The first {FILLER}. The second {FILLER}. The third {FILLER}."
    one, two, three = run([chunk(content, 0.8)])
    assert [b.text.split()[1] for b in (one, two, three)] == ["first", "second", "third"]
    assert (one.score, two.score) == (pytest.approx(0.8), pytest.approx(0.8 * (2 + 0.8) / 3))
    assert [b.score for b in run([chunk(content, 0.8)], prefer_starts=False)] == [pytest.approx(0.8)] * 3


def test_sentence_that_depends_on_another_loses():
    content = f"This router {FILLER}. The router {FILLER}."
    assert texts(run([chunk(content)], query="router"))[0].startswith("The router")


def test_definition_wins_if_the_question_wants_one():
    content = f"Flask apps run anywhere {FILLER}. Flask is a lightweight web framework {FILLER}."
    assert texts(run([chunk(content)], query="what is flask"))[0].startswith("Flask is a")
    assert texts(run([chunk(content)], query="O que é o flask?"))[0].startswith("Flask is a")
    assert texts(run([chunk(content)], query="flask apps"))[0].startswith("Flask apps")


def test_better_chunk_gives_better_bullets():
    chunks = [chunk(f"The first {FILLER}.", 0.4), chunk(f"Another one {FILLER}.", 0.9, "b.md")]
    assert [b.path for b in run(chunks)] == ["b.md", "docs/guide.md"]


def test_scores_of_promoted_readmes_are_scaled_to_one():
    chunks = [chunk(f"The first {FILLER}.", 1.5, "README.md"), chunk(f"Another one {FILLER}.", 0.75)]
    assert [b.score for b in run(chunks)] == [pytest.approx(1.0), pytest.approx(0.5)]


def test_chunks_per_document_and_bullets_per_chunk_are_limited():
    def sentences(i):
        return " ".join(f"Sentence {i}{s} has {i}{s}a {i}{s}b of {i}{s}c its own words." for s in "vwxyz")

    chunks = [chunk(sentences(i), index=i) for i in range(5)]
    assert len(run(chunks, max_per_doc=2)) == 6
    assert {b.source_id for b in run(chunks, max_per_doc=2)} == {"demo-docs#0", "demo-docs#1"}
    assert len(run(chunks, max_per_doc=2, max_bullets=4)) == 4


def test_chunk_without_evidence_does_not_count_for_its_document():
    chunks = [chunk("Nothing.", index=0), chunk(f"The only one {FILLER}.", index=1)]
    assert len(run(chunks, max_per_doc=1)) == 1


def test_nearly_equal_bullets_are_merged():
    chunks = [
        chunk(f"The router {FILLER}.", 0.6, "a.md"),
        chunk(f"The  router\n{FILLER}!", 0.7, "b.md"),
        chunk("Something else altogether is said in this other file.", 0.5, "c.md"),
    ]
    assert [b.path for b in run(chunks)] == ["b.md", "c.md"]


def test_sources_with_equal_indexes_get_distinct_ids():
    chunks = [
        chunk(f"The {name} says something of its own {i}{i} {FILLER}.", 0.9 - i / 10, f"{name}.md")
        for i, name in enumerate(("first", "second", "third"))
    ]
    chunks.append(chunk("First says yet another thing in the very same chunk.", 0.1, "first.md", index=1))
    ids = [b.source_id for b in run(chunks)]
    assert ids == ["demo-docs#0", "demo-docs#0.2", "demo-docs#0.3", "demo-docs#1"]


def test_order_of_equal_bullets_does_not_depend_on_the_chunks_order():
    chunks = [chunk(f"Number {i}{i}{i} {i} says {FILLER}.", 0.5, f"{i}.md") for i in range(5)]
    assert texts(run(chunks)) == texts(run(chunks[::-1]))


@pytest.mark.parametrize(("chunks", "limits"), [([], (9, 9)), (["x"], (0, 9)), (["x"], (9, 0))])
def test_no_chunks_or_zero_limits_give_no_bullets(chunks, limits):
    given = [chunk(f"The first {FILLER}.") for _ in chunks]
    assert compress_evidence(given, *limits, CompressionConfig()) == []


@pytest.mark.parametrize("content", ["", "\n\n", "   ", "```", "---\n", "\x00\x01", "/*", '"""'])
def test_empty_and_broken_chunks_have_no_evidence(content):
    assert run([chunk(content)]) == []
    assert run([chunk(content, path="a.py", chunk_type="code", language="python")]) == []


def test_passage_past_its_chunks_lines_cites_all_of_them():
    cell = (
        "The first sentence of a notebook's cell has nine words.\nThe second one is on the next line of it.\n"
    )
    bullets = run([chunk(cell, path="analysis.ipynb", line_range=(4, 5))])
    assert {bullet.lines for bullet in bullets} == {(4, 5)}


PLANNER = "Harbour is a planner for the moorings of big ports."


def readme(content, score=0.6, **fields):
    return chunk(content, score, "README.md", **{"header_path": "harbour", "line_range": (0, 5), **fields})


def test_overview_has_only_sentences_about_its_subject():
    life = readme(
        "Harbour is maintained by ada and bob since long ago.", 1.0, header_path="Harbour > Maintainers"
    )
    about = chunk(
        "Many big ports of the world use it by now.\n\n"
        f"A harbour-tides plugin is a companion of it that knows tides.\n\n{PLANNER}\n",
        0.6,
    )
    assert texts(run([life, about], "what is harbour")) == [PLANNER]


def test_overview_without_an_introduction_has_sentences_with_its_name():
    given = chunk("In most big ports there may be one harbour.")
    assert texts(run([given], "what is harbour")) == [given.content]


def test_first_sentence_of_a_readme_defines_its_project():
    given = readme("# harbour\n\nMoorings for each ship.\n\nRun this on each and every quay of the port.\n")
    found = run([given], "what is harbour")
    assert (found[0].text, found[0].category) == ("Moorings for each ship.", BulletCategory.DEFINITION)
    assert "Moorings for each ship." not in texts(run([given], "how are ships moored by everyone"))


def test_sentence_that_names_the_project_beats_the_first_of_its_readme():
    given = readme(f"# harbour\n\nAda Lovelace and Bob Smith.\n\n{PLANNER}\n")
    assert texts(run([given], "what is harbour")) == [PLANNER]


def test_overview_quotes_no_code_that_only_uses_its_subject():
    code = chunk(
        'def moor(ship):\n    """Asks harbour where the ship is to be moored at night."""\n',
        path="src/moor.py",
        collection="demo-source",
        chunk_type="code",
        language="python",
        signature="def moor(ship):",
    )
    script = chunk('complete -c harbour -l tides -d "Ask for the tides of the day"', path="harbour.fish.in")
    assert texts(run([code, script, chunk(PLANNER, 0.6)], "what is harbour")) == [PLANNER]


def test_subject_with_an_introduction_needs_more_than_its_name():
    manifest = chunk('"description": "Plans moorings."', 0.9, "package.json", collection="harbour-config")
    plugins = chunk("In most big ports there may be one harbour.", 0.9)
    assert run([manifest, plugins], "what is harbour") == []


@settings(max_examples=20)
@given(CHUNKS, st.integers(0, 6), st.integers(0, 6), st.integers(1, 8), st.integers(0, 10))
def test_bullets_are_limited_sorted_and_of_the_right_length(chunks, most, per_doc, least, more):
    window = {"min_sentence_words": least, "max_sentence_words": least + more}
    bullets = run(chunks, "ships in the harbour", most, per_doc, **window)
    scores = [bullet.score for bullet in bullets]
    assert len(bullets) <= most
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert all(least <= len(bullet.text.split()) <= least + more for bullet in bullets)
    used = defaultdict(set)
    for bullet in bullets:
        used[bullet.collection, bullet.path].add(bullet.source_id)
    assert all(len(sources) <= per_doc for sources in used.values())
