"""Running text is found in documents, with its paragraphs and their lines."""

from __future__ import annotations

from textwrap import dedent

import pytest

from cairn.chunking.paragraphs import read_paragraphs
from cairn.text.inline_markup import strip_inline


def blocks(text, language="markdown"):
    found = read_paragraphs(language, dedent(text).strip("\n"))
    return list(filter(None, (strip_inline(block.source).text for block in found)))


MARKDOWN = {
    "wrapped paragraphs": ("One\ntwo\n\nthree  four", ["One two", "three four"]),
    "headings": ("# Title\ntext\n## Next\nmore", ["text", "more"]),
    "setext headings": ("Title\n=====\ntext\n\nNext\n---\nmore", ["text", "more"]),
    "lists": ("- one\n  goes on\n* two\n1. three\n2) four", ["one goes on", "two", "three", "four"]),
    "nested lists": ("- one\n    - two\n        - three", ["one", "two", "three"]),
    "tasks": ("- [ ] open\n- [x] done", ["open", "done"]),
    "lazy continuation": ("- one\ngoes on", ["one goes on"]),
    "paragraph in a list": ("- one\n\n    two\n\nthree", ["one", "two", "three"]),
    "fences": ("a\n```python\nb\n\n# c\n```\nd", ["a", "d"]),
    "longer fences": ("````\n```\nb\n````\nd", ["d"]),
    "tilde fences": ("a\n~~~\nb\n~~~\nd", ["a", "d"]),
    "fence in a list": ("- a\n  ```sh\n  b\n  ```\n  d", ["a", "d"]),
    "fence in a quotation": ("> a\n> ```\n> b\n> ```\n> d", ["a", "d"]),
    "fence without an end": ("a\n```\nb\n\nc", ["a"]),
    "inline code": ("```a``` b", ["```a``` b"]),
    "indented code": ("a\n\n    b = 1\n\nc", ["a", "c"]),
    "tables": ("a\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\nb", ["a", "b"]),
    "quotations": ("> one\n> two\n\nthree", ["one two", "three"]),
    "alerts": ("> [!NOTE]\n> careful", ["careful"]),
    "html": ('<p align="center">\n  <img src="x">\n</p>\n\ntext', ["text"]),
    "html paragraphs": ('<p align="center">\n    <em>a</em>\n</p>\n\nb', ["a", "b"]),
    "html paragraphs with images": ('<p>\n  <img src="x"><br>\n  a\n</p>\nb', ["a", "b"]),
    "html comments": ("a\n\n<!-- one\ntwo\n\nthree -->\n\nb <b>c</b>", ["a", "b c"]),
    "front matter": ("---\ntitle: x\ntags:\n  - y\n---\ntext", ["text"]),
    "rules": ("a\n\n---\n\nb\n\n***\n\nc", ["a", "b", "c"]),
    "link definitions": ("a [b]\n\n[b]: http://x.y", ["a [b]"]),
    "admonitions": ("!!! note\n    careful\n\n:::tip\nwise\n:::", ["careful", "wise"]),
    "shell prompts": ("a\n\n$ pip install x\n\nb", ["a", "b"]),
}
RST = {
    "headings": (
        "=====\nTitle\n=====\n\ntext\n\nNext\n~~~~\n\nmore\n\nLast\n````\nend",
        ["text", "more", "end"],
    ),
    "literal blocks": ("Run this::\n\n    pip install x\n\n    more\n\nDone.", ["Run this::", "Done."]),
    "code directives": (".. code-block:: python\n   :linenos:\n\n   x = 1\n\n   y = 2\n\ntext", ["text"]),
    "directives with text": (
        ".. note::\n\n   careful\n   now\n\n.. image:: x.png\n   :alt: no text",
        ["careful now"],
    ),
    "described objects": (
        ".. function:: f(x)\n\n   Does it.\n\n   :param x: what",
        ["Does it.", ":param x: what"],
    ),
    "targets and comments": (".. _target:\n\n.. a comment\n   goes on\n\ntext", ["text"]),
    "grid tables": ("+---+---+\n| a | b |\n+---+---+\n\ntext", ["text"]),
    "doctests": ("a\n\n>>> f(1)\n2\n\nb", ["a", "b"]),
    "definition lists": (
        "term\n    what it is\nother\n    what that is",
        ["term", "what it is", "other", "what that is"],
    ),
    "dedent": ("    deep\nflat", ["deep", "flat"]),
}


@pytest.mark.parametrize(("text", "expected"), MARKDOWN.values(), ids=MARKDOWN.keys())
def test_markdown_is_read_as_paragraphs_and_items(text, expected):
    assert blocks(text) == expected


@pytest.mark.parametrize(("text", "expected"), RST.values(), ids=RST.keys())
def test_rst_is_read_as_paragraphs_and_items(text, expected):
    assert blocks(text, "rst") == expected


def test_paragraphs_have_their_lines():
    found = read_paragraphs("markdown", "# Title\n\none\ntwo\n- three\n  four\n\n> five\n")
    assert [(block.source, block.first, block.last, block.is_item) for block in found] == [
        ("one\ntwo", 2, 4, False),
        ("three\nfour", 4, 6, True),
        ("five", 7, 8, False),
    ]
