"""The promise of every citation: the cited lines contain the text, whatever the chunk looks like.

The check is written here once more, apart from the package's own, so that a mistake there shows.
"""

from __future__ import annotations

import re

from discovery_builders import chunk
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.discovery import CompressionConfig, compress_evidence
from cairn.discovery.code_evidence import code_passages
from cairn.discovery.passages import prose_passages
from cairn.discovery.verbatim import stands_in

MARK = re.compile(r"^\s*(?:#:|#|///|//!|//|/\*+|\*|--|;;|%)(?=\s|$)")

WORDS = st.sampled_from(
    "The parser reads files. It is v1.2 e.g. a `code span` [link](a.md) **bold** *soft* (in brackets) flask.Flask "
    "3.11.2 etc. i.e. and --flag x = 1 :role:`x` https://x.y/z. What? Wait... done! # * // %s > | ``a b`` é".split()
)
PROSE = st.lists(WORDS, min_size=1, max_size=14).map(" ".join)
PREFIXES = (
    "", "", "", "  ", "    ", "\t", "- ", "* ", "1. ", "> ", "# ", "#: ", "## ", "// ", "/// ", "//! ", "/* ", " * ",
    "-- ", ";; ", "% ", ".. note:: ", ":param x: ", "@param x ", "| ", "```", "~~~", "---", "===", '"""', "    '''",
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
SIGNATURES = st.sampled_from(["", "def f(a, b):", "def f(a, b)", "The parser", "reads files."])
WINDOW = CompressionConfig(min_sentence_words=2, max_sentence_words=40)


def plain(text):
    lines = [MARK.sub("", line, count=1) for line in re.split(r"\r\n|\r|\n", text)]
    return " ".join(" ".join(lines).split())


def check(content, path, language, signature):
    kind = "prose" if path.endswith(("md", "rst")) else "code"
    given_chunk = chunk(
        content,
        path=path,
        chunk_type=kind,
        language=language,
        signature=signature,
        line_range=(100, 100 + len(re.split(r"\r\n|\r|\n", content))),
    )
    lines = re.split(r"\r\n|\r|\n", content)
    bullets = compress_evidence([given_chunk], 50, 3, WINDOW, query="parser files")
    for bullet in bullets:
        start, end = bullet.line_range
        assert 100 <= start < end <= 100 + len(lines)
        cited = "\n".join(lines[start - 100 : end - 100])
        assert plain(bullet.text) in plain(cited)
        assert 2 <= len(bullet.text.split()) <= 40
        assert bullet.text == " ".join(bullet.text.split())


@settings(max_examples=250, deadline=None)
@given(st.one_of(TEXTS, ANYTHING), st.sampled_from(["a.md", "a.rst"]))
def test_bullets_of_documents_stand_on_their_lines(content, path):
    check(content, path, "", "")


@settings(max_examples=250, deadline=None)
@given(
    st.one_of(TEXTS, ANYTHING),
    st.sampled_from(
        [("a.py", "python"), ("a.go", "go"), ("a.js", "javascript"), ("a.tex", "latex"), ("a.sql", "sql")]
    ),
    SIGNATURES,
)
def test_bullets_of_code_stand_on_their_lines(content, place, signature):
    check(content, *place, signature)


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_no_passage_needs_to_be_thrown_away(content):
    """`compress_evidence` drops what cannot be verified; the extraction should leave it nothing to drop."""
    lines = re.split(r"\r\n|\r|\n", content)
    passages = prose_passages(content, markdown=True) + prose_passages(content, markdown=False)
    passages += code_passages(content, chunk("", language="python", signature="def f(a, b):").metadata)
    for passage in passages:
        assert stands_in(passage.text, lines[passage.first : passage.last]), passage
