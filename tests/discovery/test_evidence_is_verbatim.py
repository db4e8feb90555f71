"""Every citation's lines contain the text, whatever the chunk looks like.

`stands_in` decides that; the table at the end tests that it also rejects texts.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.discovery.discovery_builders import chunk

from cairn.chunking.chunker import chunk_text
from cairn.discovery.compression import compress_evidence
from cairn.settings.discovery import CompressionConfig
from cairn.text.verbatim import lines_of, stands_in

WORDS = st.sampled_from(
    "The parser reads files. It is v1.2 e.g. a `code span` [link](a.md) **bold** *soft* (in brackets) "
    "flask.Flask "
    "3.11.2 etc. i.e. and --flag x = 1 :role:`x` https://x.y/z. What? Wait... done! # * // %s > | "
    "``a b`` é".split()
)
PROSE = st.lists(WORDS, min_size=1, max_size=14).map(" ".join)
PREFIXES = (
    "", "", "", "  ", "    ", "\t", "- ", "* ", "1. ", "> ", "# ", "#: ", "## ", "// ", "/// ", "//! ",
    "/* ", " * ",
    "-- ", ";; ", "% ", ".. note:: ", ":param x: ", "@param x ", "| ", "```", "~~~", "---",
    "===", '"""', "    '''",
    "def f(a, b): ", ">>> ", "<p>", "<!-- ", "**", "--", "*", "//",
)  # fmt: skip
LINES = st.one_of(
    st.tuples(st.sampled_from(PREFIXES), PROSE).map("".join),
    PROSE,
    st.just(""),
    st.sampled_from(["```", "```py", '"""', "*/", "/**", " */", "::", "+---+", "-->", "====", "..", "@x"]),
)
TEXTS = st.tuples(st.lists(LINES, max_size=18), st.sampled_from(["\n", "\r\n", "\r"])).map(
    lambda t: t[1].join(t[0])
)
ANYTHING = st.text(alphabet=st.characters(codec="utf-8"), max_size=300)
DOCUMENTED = [
    ("a.py", 'def moor(a, b):\n    """{0}"""\n    return a\n', "\n    ", "def moor(a, b)"),
    (
        "a.go",
        "// {0}\nfunc Moor(a int, b int) int {{\n\treturn a\n}}\n",
        "\n// ",
        "func Moor(a int, b int) int",
    ),
    ("a.js", "/**\n * {0}\n */\nfunction moor(a, b) {{\n  return a;\n}}\n", "\n * ", "function moor(a, b)"),
    ("a.rs", "/// {0}\nfn moor(a: u32) -> u32 {{\n    a\n}}\n", "\n/// ", "fn moor(a: u32) -> u32"),
]
"""Paths, code with a comment, what separates the lines of the comment, and the head that has it."""
WINDOW = CompressionConfig(min_sentence_words=2, max_sentence_words=40)

NUMBERS = st.integers(1, 9999).map(str)
MARKED = st.builds(
    lambda shape, words: shape.format(*words),
    st.sampled_from(
        [
            "{0}{1} {2}", "**{0}{1} {2}**", "*{0}{1}* {2}", "_{0}{1}_ {2}", "`{0}_{1}` {2}",
            "[{0}{1} {2}](http://x.y/{1})",
            "[{0}{1}][ref] {2}", "![alt](a.png) {0}{1} {2}", "<https://x.y/{0}{1}> {2}", "{0}{1}[^1] {2}",
            "<b>{0}{1}</b> {2}", "{0}{1} &amp; {2}", ":class:`{0}{1}` {2}", "`{0}{1} <http://x.y>`_ {2}",
            "``{0}{1}`` {2}",
            "~~{0}~~ {1} {2}", "snake_{0}_{1} {2}", "*{0}{1} {2}", "{{@code {0}{1}}} {2}",
            "**{0}** `*{1}` {2}",
            "[{0}\n{1}](http://x.y) {2}", "`{0}\n{1} <http://x.y>`_ {2}", "**{0}\n{1}** {2}",
            "`{0}\n{1}` {2}",
        ]
    ),
    st.tuples(st.sampled_from(["reads", "files", "parser", "vector", "index"]), NUMBERS, NUMBERS),
)  # fmt: skip
SENTENCE = st.lists(MARKED, min_size=3, max_size=8).map(lambda parts: " ".join(parts) + " end.")


@st.composite
def markup(draw):
    """Draw paragraphs of sentences that differ by their number."""
    texts = draw(st.lists(st.lists(SENTENCE, min_size=1, max_size=4), min_size=2, max_size=4))
    numbers = itertools.count(10_000)
    separator = draw(st.sampled_from([" ", "\n"]))
    return "\n\n".join(separator.join(f"Rule {next(numbers)}: {text}" for text in part) for part in texts)


def check(content, path, kind, **fields):
    lines = re.split(r"\r\n|\r|\n", content)
    given_chunk = chunk(content, path=path, chunk_type=kind, line_range=(100, 100 + len(lines)), **fields)
    bullets = compress_evidence([given_chunk], 50, 3, WINDOW, query="parser files")
    for bullet in bullets:
        start, end = bullet.lines
        assert 100 <= start < end <= 100 + len(lines)
        assert stands_in(bullet.text, lines[start - 100 : end - 100])
        assert 2 <= len(bullet.text.split()) <= 40
        assert bullet.text == " ".join(bullet.text.split())
    return bullets


@settings(max_examples=120)
@given(st.one_of(TEXTS, ANYTHING), st.sampled_from(["a.md", "a.rst", "a.txt"]))
def test_bullets_of_documents_are_on_their_lines(content, path):
    check(content, path, "prose")


@settings(max_examples=60)
@given(st.one_of(TEXTS, ANYTHING).filter(str.strip), st.sampled_from(["a.py", "a.go", "a.js", "a.sql"]))
def test_bullets_of_any_code_are_on_their_lines(content, path):
    for each in chunk_text(path, content):
        check(each.text, path, "code", signature=each.signature, comment=each.comment)


@settings(max_examples=60)
@given(st.sampled_from(DOCUMENTED), st.lists(PROSE, min_size=1, max_size=3))
def test_head_is_quoted_whatever_its_comment_says(documented, comment):
    path, code, line, head = documented
    [each] = chunk_text(path, code.format(line.join(comment)))
    bullets = check(each.text, path, "code", signature=each.signature, comment=each.comment)
    assert any(head in bullet.text for bullet in bullets)


@settings(max_examples=20)
@given(markup(), st.sampled_from(["a.md", "a.rst"]))
def test_sentences_without_markup_are_on_their_lines_only(content, path):
    lines = content.split("\n")
    given_chunk = chunk(content, path=path, line_range=(0, len(lines)))
    for bullet in compress_evidence([given_chunk], 50, 3, WINDOW):
        first, last = bullet.lines
        assert stands_in(bullet.text, lines[first:last])
        assert not stands_in(bullet.text, lines[:first] + lines[last:])


@pytest.mark.parametrize("pattern", ["README.md", "docs/*.md", "server/cairn/discovery/*.py"])
def test_bullets_of_this_project_are_on_their_lines(pattern):
    for file in sorted(Path(__file__).parents[2].glob(pattern)):
        text = file.read_text(encoding="utf-8")
        for each in chunk_text(file.name, text):
            place = {"path": file.name, "line_range": (each.start_line, each.end_line)}
            kind = {"chunk_type": each.type.value, "signature": each.signature, "comment": each.comment}
            for bullet in compress_evidence(
                [chunk(each.text, **place, **kind)], 50, 3, WINDOW, query="evidence"
            ):
                assert stands_in(bullet.text, lines_of(text)[slice(*bullet.lines)]), bullet


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        ("It reads files.", ["It **reads**", "[files](a.md)."], True),
        ("It reads files.", ["It **writes**", "[files](a.md)."], False),
        ("a.md", ["see [files](a.md) now"], True),  # the line as it is
        ("reads files", ["// It reads", "// files."], True),
        ("reads files", ["// It reads", "# [x](y)", "// files."], False),
        ("reads files", ["# It reads", "# > files."], True),
        ("a > b", ["# a", "# >b"], False),
        ("one", ["none"], False),
        ("It reads. … def f(x)", ["# It reads.", "@cached", "def f(x):"], True),
        ("def f(x) … It reads.", ["# It reads.", "@cached", "def f(x):"], False),
        ("f(*args)", ["def f(*args):"], True),
        ("", ["x"], False),
        ("x", [], False),
    ],
)
def test_stands_in_compares_text_with_lines(text, lines, expected):
    assert stands_in(text, lines) is expected
