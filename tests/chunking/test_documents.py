"""Documents are cut by headings and blocks, and fences stay whole."""

import pytest

from cairn.chunking.chunker import chunk_text
from cairn.chunking.model import Chunk
from cairn.chunking.sections import FENCE_LIMIT, MAXIMUM
from cairn.protocol.search_messages import ChunkType

_GUIDE = """\
# Guide

What this guide is about, in a sentence or two.

## Routing

How a request finds the handler that answers it.

### Converters

How the parts of a path become typed values.

## Errors

What happens when a handler raises an exception.
"""
_PART = "## Part\n\nSix words and a few more here.\n"


def _paths(text: str, path: str = "docs/guide.md") -> list[str]:
    return [chunk.header_path for chunk in chunk_text(path, text)]


def _holding(chunks: list[Chunk], text: str) -> Chunk:
    return next(chunk for chunk in chunks if text in chunk.text)


def test_sections_have_the_headings_above_them() -> None:
    assert _paths(_GUIDE) == ["Guide", "Guide > Routing", "Guide > Routing > Converters", "Guide > Errors"]
    titles = [chunk.title for chunk in chunk_text("guide.md", _GUIDE)]
    assert titles == ["Guide", "Routing", "Converters", "Errors"]


@pytest.mark.parametrize(
    ("path", "title", "section"),
    [
        ("guide.md", "Guide\n=====", "Routing\n-------"),
        ("guide.rst", "=====\nGuide\n=====", ".. _routing:\n\nRouting\n-------"),
        ("guide.txt", "Guide\n=====", "Routing\n-------"),
        ("guide.adoc", "= Guide", "== Routing"),
        ("guide.org", "* Guide", "** TODO Routing :web:"),
        ("guide.tex", "\\chapter{Guide}", "\\section{Routing}"),
        ("guide.md", '<h1 align="center">Guide</h1>', "<h2>Routing</h2>"),
        ("guide.md", "---\ntitle: Guide\n---", "## Routing"),
        ("guide.md", "# Guide", "# Routing"),
    ],
    ids=["setext", "rst", "txt", "adoc", "org", "latex", "html", "front matter", "several first headings"],
)
def test_every_markup_has_headings(path: str, title: str, section: str) -> None:
    words = "What this guide is about, in a sentence."
    assert _paths(f"{title}\n\n{words}\n\n{section}\n\n{words}\n", path) == ["Guide", "Guide > Routing"]


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# Using `run()`", "Using run()"),
        ("# [Cairn](https://example.org) guide", "Cairn guide"),
        ("# **Bold** and *soft* #", "Bold and soft"),
        ("# snake_case_name stays", "snake_case_name stays"),
        ("# Setup {#setup}", "Setup"),
        ("# Setup [#setup]", "Setup"),
        ("# ![Logo](logo.png)", "Logo"),
        ("# A &amp; B", "A & B"),
    ],
)
def test_titles_have_no_markup(heading: str, title: str) -> None:
    assert chunk_text("a.md", f"{heading}\n\nWords that follow the heading above them.\n")[0].title == title


@pytest.mark.parametrize(
    "fence",
    [
        "```python\n# not a heading\n\n\nx = 1\n```",
        "~~~\n# not a heading\n~~~",
        "````md\n```\n# not a heading\n```\n````",
        "- item\n\n  ```sh\n  # not a heading\n  ```",
        "1. item\n   ```sh\n# not a heading\n   ```",
        "> ```\n> # quoted\n# not a heading\n> ```",
        "```\n# not a heading, never closed",
        "<!--\n# not a heading\n-->",
        "words <!-- that\n# are not a heading\n--> follow",
        "<pre>\n# not a heading\n\n# nor this\n</PRE>",
        "<script>\n# not a heading\n</script>",
    ],
)
def test_heading_marks_inside_a_block_do_not_count(fence: str) -> None:
    text = f"# Title\n\nSome words that introduce what follows here.\n\n{fence}\n"
    assert _paths(text) == ["Title"]


@pytest.mark.parametrize(
    "block",
    [
        "- item\n\n  ```sh\n  never closed",
        "> ```\n> never closed",
        "Comments start with `<!--` in it.",
        "An element like `<pre>` in a line.",
    ],
)
def test_unclosed_block_hides_no_later_heading(block: str) -> None:
    text = f"# Title\n\nSome words that introduce what follows here.\n\n{block}\n\n{_PART}"
    assert _paths(text) == ["Title", "Title > Part"]
    assert _paths(text + "\nThen --> or </pre> are found.\n")[-1] == "Title > Part"


@pytest.mark.parametrize("first", ["\n# Title", "# Title", "Just words, as they come.\n\n# Title"])
def test_text_between_rules_is_not_front_matter(first: str) -> None:
    text = f"---\n{first}\n\nWords enough to be a section here.\n\n---\n\n{_PART}"
    assert _paths(text)[-2:] == ["Title", "Title > Part"]


def test_html_heading_may_take_several_lines() -> None:
    heading = '<h1 align="center">\n  <img src="logo.svg">\n  <br>\n  Harbour\n</h1>'
    assert _paths(f"{heading}\n\nWords enough to be a section here.\n") == ["Harbour"]


def test_heading_needs_a_space_after_its_marks() -> None:
    assert _paths("# Title\n\n#hashtag begins no heading with these words.\n") == ["Title"]


@pytest.mark.parametrize("mark", ["```", "~~~", "`````"])
@pytest.mark.parametrize("before", [0, 900, 1500, 1990])
@pytest.mark.parametrize("size", [200, 1200, FENCE_LIMIT - 120])
def test_fence_is_never_cut(mark: str, before: int, size: int) -> None:
    code = "".join(f"    value_{index} = compute({index})\n\n" for index in range(size // 30))
    fence = f"{mark}python\n{code}{mark}\n"
    prose = "Words about it. " * (before // 16)
    chunks = chunk_text("a.md", f"# Title\n\n{prose}\n\n{fence}\n{'More words. ' * 200}\n")
    assert fence in _holding(chunks, f"{mark}python").text


def test_fence_beyond_the_limit_is_cut_between_lines() -> None:
    code = "".join(f"        value_{index} = compute({index})\n" for index in range(200))
    text = f"# Title\n\nShort.\n\n```python\n{code}```\n"
    chunks = chunk_text("a.md", text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert len(chunks) > 2
    assert all(len(chunk.text) <= FENCE_LIMIT + 250 for chunk in chunks)
    assert all(chunk.text.startswith("        value_") for chunk in chunks[1:])
    assert {(chunk.type, chunk.language) for chunk in chunks} == {(ChunkType.CODE, "python")}


def test_introduction_stays_with_its_fence() -> None:
    text = f"# Title\n\n{'Long prose. ' * 140}\n\nRun it like this:\n\n```sh\n{'make test' * 60}\n```\n"
    assert "Run it like this" in _holding(chunk_text("a.md", text), "```sh").text


@pytest.mark.parametrize(
    ("info", "code", "chunk_type", "language"),
    [
        ("python", "x = compute(1)", ChunkType.CODE, "python"),
        ("bash", "pip install harbour", ChunkType.CMD, "bash"),
        ("console", "$ pip install harbour", ChunkType.CMD, "console"),
        ("", "$ pip install harbour", ChunkType.CMD, ""),
        ("yaml", "server:\n  port: 80", ChunkType.CONFIG, "yaml"),
        ("yaml", "openapi: 3.1.0\npaths: {}", ChunkType.API, "yaml"),
        ("json", '{"port": 80}', ChunkType.CONFIG, "json"),
        ("graphql", "type Ship { name: String }", ChunkType.API, "graphql"),
        ("text", "harbour/\n  berths.py", ChunkType.PROSE, "markdown"),
    ],
)
def test_chunk_of_mostly_a_fence_has_the_fence_type(
    info: str, code: str, chunk_type: ChunkType, language: str
) -> None:
    (chunk,) = chunk_text("a.md", f"## Use\n\n```{info}\n{code}\n```\n")
    assert (chunk.type, chunk.language) == (chunk_type, language)


def test_chunk_of_mostly_prose_stays_prose() -> None:
    (chunk,) = chunk_text("a.md", f"# Use\n\n{'Words that explain it. ' * 20}\n\n```sh\nmake\n```\n")
    assert (chunk.type, chunk.language) == (ChunkType.PROSE, "markdown")


@pytest.mark.parametrize(
    ("path", "heading"),
    [("a.md", "GET /users/{id}"), ("a.md", "`POST /users`"), ("docs/openapi/ships.md", "Ships")],
)
def test_endpoints_are_api(path: str, heading: str) -> None:
    (chunk,) = chunk_text(path, f"## {heading}\n\nAnswers with what is known about it so far.\n")
    assert chunk.type is ChunkType.API


def test_bare_title_joins_its_first_section() -> None:
    text = "# Guide\n\n## Install\n\nHow to install it on your own machine.\n"
    (chunk,) = chunk_text("a.md", text)
    assert (chunk.title, chunk.header_path) == ("Install", "Guide > Install")


def test_short_sections_with_text_stay_apart() -> None:
    notes, links = "Open the notes widget to write.", "Links are shortcuts to your pages."
    assert _paths(f"# App\n\n## Notes\n\n{notes}\n\n## Links\n\n{links}\n") == ["App > Notes", "App > Links"]


def test_empty_sections_side_by_side_keep_both_names() -> None:
    text = "# Log\n\nAll the changes that were ever made to it.\n\n## 1.1\n\n- Fix\n\n## 1.0\n\n- First\n"
    assert _paths(text) == ["Log", "Log > 1.1, 1.0"]


def test_long_sections_are_cut_between_paragraphs() -> None:
    paragraph = "A sentence that fills the line with words.\n" * 12
    chunks = chunk_text("a.md", "# Title\n\n" + f"{paragraph}\n" * 12)
    assert len(chunks) > 2
    assert all(len(chunk.text) <= MAXIMUM for chunk in chunks)
    assert all(chunk.text.endswith("words.\n\n") for chunk in chunks)
    assert {chunk.header_path for chunk in chunks} == {"Title"}


def test_lists_and_tables_are_cut_between_items() -> None:
    rows = "".join(f"| name {index} | what it means in some words |\n" for index in range(100))
    chunks = chunk_text("a.md", f"# Title\n\n| a | b |\n|---|---|\n{rows}")
    assert len(chunks) > 1
    assert all(chunk.text.startswith("| name") for chunk in chunks[1:])


@pytest.mark.parametrize(
    ("path", "block"),
    [
        ("a.rst", ".. code-block:: python\n\n    # code\n\n    x = 1\n"),
        ("a.adoc", "[source,python]\n----\n# code\nx = 1\n----\n"),
        ("a.org", "#+begin_src python\n* code\nx = 1\n#+end_src\n"),
        ("a.tex", "\\begin{minted}{python}\n\\section{code}\nx = 1\n\\end{minted}\n"),
        ("a.typ", "```python\n= code\nx = 1\n```\n"),
    ],
)
def test_code_blocks_of_other_markup_have_a_language(path: str, block: str) -> None:
    (chunk,) = chunk_text(path, block)
    assert (chunk.type, chunk.language) == (ChunkType.CODE, "python")


def test_literal_block_of_rst_is_a_code_block() -> None:
    code = "    x = compute(1)\n\n    y = compute(2)\n\n" * 5
    (chunk,) = chunk_text("a.rst", f"Title\n=====\n\nFor example::\n\n{code}And so on it goes.\n")
    assert chunk.type is ChunkType.CODE


def test_document_without_headings_is_named_after_its_file() -> None:
    (chunk,) = chunk_text("docs/notes.md", "Only words, and nothing above them.\n")
    assert (chunk.title, chunk.header_path) == ("notes", "")
