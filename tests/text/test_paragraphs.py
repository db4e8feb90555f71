"""Running text is found in documents, with its paragraphs and their lines."""

from __future__ import annotations

from textwrap import dedent

import pytest

from cairn.text.paragraphs import read_paragraphs


def blocks(text, markdown=True):
    lines = dedent(text).strip("\n").split("\n")
    return [block.text for block in read_paragraphs(enumerate(lines), markdown)]


MARKDOWN = {
    "wrapped paragraphs": ("One\ntwo\n\nthree  four", ["One two", "three four"]),
    "headings": ("# Title\ntext\n## Next\nmore", ["text", "more"]),
    "setext headings": ("Title\n=====\ntext\n\nNext\n---\nmore", ["text", "more"]),
    "lists": ("- one\n  goes on\n* two\n1. three\n2) four", ["one goes on", "two", "three", "four"]),
    "nested lists": ("- one\n    - two\n        - three", ["one", "two", "three"]),
    "tasks": ("- [ ] open\n- [x] done", ["open", "done"]),
    "lazy continuation": ("- one\ngoes on", ["one goes on"]),
    "paragraph in a list": ("- one\n\n    two\n\nthree", ["one", "two", "three"]),
    "number within a paragraph": ("as of version\n3. Later too", ["as of version 3. Later too"]),
    "fences": ("a\n```python\nb\n\n# c\n```\nd", ["a", "d"]),
    "longer fences": ("````\n```\nb\n````\nd", ["d"]),
    "tilde fences": ("a\n~~~\nb\n~~~\nd", ["a", "d"]),
    "fence in a list": ("- a\n  ```sh\n  b\n  ```\n  d", ["a", "d"]),
    "fence in a quotation": ("> a\n> ```\n> b\n> ```\n> d", ["a", "d"]),
    "fence without an end": ("a\n```\nb\n\nc", ["a"]),
    "inline code": ("```a``` b", ["```a``` b"]),
    "indented code": ("a\n\n    b = 1\n\nc", ["a", "c"]),
    "tables": ("a\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\nb", ["a", "b"]),
    "tables without bars": ("a\n\nx | y\n--- | ---\n1 | 2\n\nb", ["a", "b"]),
    "quotations": ("> one\n> two\n\nthree", ["one two", "three"]),
    "alerts": ("> [!NOTE]\n> careful", ["careful"]),
    "html": ('<p align="center">\n  <img src="x">\n</p>\n\ntext', ["text"]),
    "html paragraphs": ('<p align="center">\n    <em>a</em>\n</p>\n\nb', ["a", "b"]),
    "html paragraphs on one line": ('<h1>\n  <img src="x">\n</h1>\n<p class="y">a</p>\n\nb', ["a", "b"]),
    "html paragraphs with images": ('<p>\n  <img src="x"><br>\n  a\n</p>\nb', ["a", "b"]),
    "html comments": ("a\n\n<!-- one\ntwo\n\nthree -->\n\nb <b>c</b>", ["a", "b c"]),
    "front matter": ("---\ntitle: x\ntags:\n  - y\n---\ntext", ["text"]),
    "rules": ("a\n\n---\n\nb\n\n***\n\nc", ["a", "b", "c"]),
    "link definitions": ("a [b]\n\n[b]: http://x.y", ["a [b]"]),
    "admonitions": ("!!! note\n    careful\n\n:::tip\nwise\n:::", ["careful", "wise"]),
    "mdx": ("import X from 'y'\nexport const a = 1\n\ntext", ["text"]),
    "shell prompts": ("a\n\n$ pip install x\n\nb", ["a", "b"]),
}
RST = {
    "headings": (
        "=====\nTitle\n=====\n\ntext\n\nNext\n~~~~\n\nmore\n\nLast\n````\nend",
        ["text", "more", "end"],
    ),
    "literal blocks": ("Run this::\n\n    pip install x\n\n    more\n\nDone.", ["Run this::", "Done."]),
    "code directives": (".. code-block:: python\n   :linenos:\n\n   x = 1\n\n   y = 2\n\ntext", ["text"]),
    "prose directives": (
        ".. note::\n   careful\n   now\n\n.. tip:: wise\n   too",
        ["careful now", "wise too"],
    ),
    "version notes": (".. versionchanged:: 2.0\n   new\n\n.. deprecated:: 1.0 old", ["new", "old"]),
    "described objects": (
        ".. function:: f(x)\n\n   Does it.\n\n   :param x: what",
        ["Does it.", ":param x: what"],
    ),
    "targets and comments": (".. _target:\n\n.. a comment\n   goes on\n\ntext", ["text"]),
    "grid tables": ("+---+---+\n| a | b |\n+---+---+\n\ntext", ["text"]),
    "simple tables": ("==  ==\na   b\n==  ==\n1   2\n==  ==\n\ntext", ["text"]),
    "doctests": ("a\n\n>>> f(1)\n2\n\nb", ["a", "b"]),
    "definition lists": (
        "term\n    what it is\nother\n    what that is",
        ["term", "what it is", "other", "what that is"],
    ),
    "google parameters": (
        "Args:\n    x: the first\n        goes on\n    y: the second",
        ["Args:", "x: the first goes on", "y: the second"],
    ),
    "numpy parameters": ("Parameters\n----------\nx : int\n    The first.", ["x : int", "The first."]),
    "javadoc": (
        "Does it.\n@param x what\n@return that\n<p>More.",
        ["Does it.", "@param x what", "@return that", "More."],
    ),
    "dedent": ("    deep\nflat", ["deep", "flat"]),
}


@pytest.mark.parametrize(("text", "expected"), MARKDOWN.values(), ids=MARKDOWN.keys())
def test_markdown_is_read_as_paragraphs_and_items(text, expected):
    assert blocks(text) == expected


@pytest.mark.parametrize(("text", "expected"), RST.values(), ids=RST.keys())
def test_rst_and_docstrings_are_read_as_paragraphs_and_items(text, expected):
    assert blocks(text, markdown=False) == expected


def test_part_of_a_block_has_its_lines():
    [block] = read_paragraphs([(7, "one two"), (8, "  three"), (9, "four")], markdown=True)
    assert block.text == "one two three four"
    found = [block.lines(*span) for span in ((0, 3), (4, 13), (8, 13), (8, 18), (0, 18))]
    assert found == [(7, 8), (7, 9), (8, 9), (8, 10), (7, 10)]


@pytest.mark.parametrize("line", ["-- so", "// so", "% so"])
def test_text_over_a_line_like_a_comment_cannot_be_cited(line):
    [block] = read_paragraphs([(0, "see"), (1, line)], markdown=True)
    assert block.lines(0, len(block.text)) is None
    assert block.lines(0, 3) == (0, 1)


@pytest.mark.parametrize("line", ["*emphasis* here", "--flag there", "**bold** there", "%s is put in"])
def test_text_over_a_line_with_emphasis_or_flag_can_be_cited(line):
    [block] = read_paragraphs([(0, "see"), (1, line)], markdown=True)
    assert block.lines(0, len(block.text)) == (0, 2)


def test_quotation_over_several_lines_can_be_cited():
    [block] = read_paragraphs([(0, "> see"), (1, "> more")], markdown=True)
    assert (block.text, block.lines(0, 8)) == ("see more", (0, 2))


def test_link_over_two_lines_is_cited_whole():
    [block] = read_paragraphs(
        [(0, "One [two"), (1, "three](http://x.y)"), (2, "**four** five")], markdown=True
    )
    assert block.text == "One two three four five"
    assert block.lines(4, 7) == (0, 2)
    assert block.lines(14, 18) == (2, 3)
    assert block.lines(0, 3) == (0, 1)


@pytest.mark.parametrize(
    ("text", "expected"), [("Do this\n- a", True), ("Do this\n\n```\na\n```", True), ("Do this\n\nb", False)]
)
def test_paragraph_leads_in_lists_and_code(text, expected):
    assert read_paragraphs(enumerate(text.split("\n")), markdown=True)[0].leads_in is expected
