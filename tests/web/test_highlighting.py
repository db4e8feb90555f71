"""Syntax highlighting of source code as lines of HTML."""

from __future__ import annotations

import re
from html import unescape

import hypothesis
import pytest
from hypothesis import strategies as st

from cairn.web.code_markup import MOST_COLOURED, code_lines

PYTHON = 'def moor(ship):\n    """Moor <it> & go."""\n    return "a\\n"\n'


def plain(lines: list[str]) -> list[str]:
    return [unescape(re.sub(r"<[^>]*>", "", line)) for line in lines]


def test_tokens_are_marked_and_text_is_escaped() -> None:
    lines = code_lines(PYTHON, "python", "a.py")
    assert plain(lines) == PYTHON.splitlines()
    assert lines[0].startswith('<span class="k">def</span> <span class="nf">moor</span>')
    assert "&lt;it&gt; &amp; go" in lines[1]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("readers of UV_READ", ["read", "READ"]),
        ("already spread", []),
        ("onReadStart", ["Read", "Start"]),
        ("restart", []),
        ("値段", ["段"]),
        ("get_signing_serializer(app)", ["signing", "app"]),
    ],
)
def test_words_are_marked_at_their_beginning(text: str, marked: list[str]) -> None:
    (line,) = code_lines(text, "python", "a.py", ("read", "start", "段", "Signing", "app"))
    assert re.findall("<mark>(.*?)</mark>", line) == marked


@pytest.mark.parametrize(
    ("language", "path"),
    [("go", "a.go"), ("", "x.rs"), ("klingon", "noise.xyz"), ("markdown", "README.md"), ("csharp", "a.cs")],
)
def test_highlighting_keeps_the_text(language: str, path: str) -> None:
    text = "# one\n\nfunc two() { return `<b>` }\n\tthree"
    assert plain(code_lines(text, language, path)) == text.split("\n")


def test_large_text_has_no_colours() -> None:
    lines = code_lines("x = 1\n" * (MOST_COLOURED // 6 + 1), "python", "a.py")
    assert lines[0] == "x = 1"
    assert len(lines) == MOST_COLOURED // 6 + 1


@hypothesis.given(st.text(max_size=300), st.sampled_from(["python", "javascript", "html", "c", "yaml", ""]))
@hypothesis.settings(max_examples=150)
def test_text_never_becomes_markup(text: str, language: str) -> None:
    lines = code_lines(text, language, "a.txt", ("a", "<"))
    assert all(re.fullmatch(r"(?:[^<>]|</?mark>|</span>|<span class=\"\w+\">)*", line) for line in lines)
    wanted = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert plain(lines) == (wanted[:-1] if wanted[-1] == "" else wanted)


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\nb", "\n\n", "a\r\nb\rc\n", "'''a\nb\nc'''\nd = 1\n"])
def test_first_lines_equal_those_of_the_whole_text(text: str) -> None:
    whole = code_lines(text, "python", "a.py", ["b"])
    for most in range(len(whole) + 2):
        assert code_lines(text, "python", "a.py", ["b"], most) == whole[:most]
