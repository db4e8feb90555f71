"""Quotations of code: the head of a chunk's definition with the first sentence of its comment."""

from __future__ import annotations

from textwrap import dedent

import pytest
from tests.discovery.discovery_builders import chunk

from cairn.chunking.chunker import chunk_text
from cairn.discovery.compression import compress_evidence
from cairn.settings.discovery import CompressionConfig


def quotes(code, path="app.py", **config):
    """Return the bullets of the file's chunks, with their lines."""
    chunks = [
        chunk(
            each.text,
            path=path,
            index=each.position,
            line_range=(each.start_line, each.end_line),
            chunk_type=each.type.value,
            language=each.language,
            signature=each.signature,
            comment=each.comment,
        )
        for each in chunk_text(path, dedent(code).strip("\n"))
    ]
    bullets = compress_evidence(chunks, 20, 3, CompressionConfig(**config))
    return {bullet.text: bullet.lines for bullet in bullets}


def test_python_head_is_quoted_with_its_docstrings_first_sentence():
    code = '''
        @decorated
        def match(self, request: Request) -> Rule:
            """Find the rule that
            answers the request. Others are skipped.

            The first rule that matches wins, whatever the order of registration was.
            """
            return self.rules[0]
    '''
    head = "def match(self, request: Request) -> Rule"
    assert quotes(code) == {f"{head} … Find the rule that answers the request.": (1, 4)}


def test_comment_above_a_head_is_quoted_before_it():
    code = """
        package app

        // HasFlags checks if the command
        // contains persistent flags.
        func (c *Command) HasFlags() bool {
            return c.flags != nil
        }
    """
    text = "HasFlags checks if the command contains persistent flags. … func (c *Command) HasFlags() bool"
    assert quotes(code, path="command.go") == {text: (2, 5)}


def test_head_and_sentence_that_are_too_long_together_are_quoted_alone():
    code = """
        /// Reads the whole file into memory and checks that it is valid text, which takes a while.
        fn read(path: &Path, limit: usize, retries: u32, strict: bool, log: &Log) -> Result<String> {
            todo()
        }
    """
    head = "fn read(path: &Path, limit: usize, retries: u32, strict: bool, log: &Log) -> Result<String>"
    assert quotes(code, path="io.rs") == {
        "Reads the whole file into memory and checks that it is valid text, which takes a while.": (0, 1),
        head: (1, 2),
    }


def test_head_without_a_comment_is_quoted_alone():
    code = "def f(a: int, b: int, c: int, d: int) -> dict[str, int]:\n    return {}"
    head = "def f(a: int, b: int, c: int, d: int) -> dict[str, int]"
    assert quotes(code) == {head: (0, 1)}
    assert quotes(code, max_sentence_words=9) == {}


def test_head_of_several_lines_is_quoted_whole():
    code = "def merge_url(\n    self,\n    url: URL | str,\n) -> URL:\n    '''Merge a url with the base.'''\n"
    assert quotes(code) == {
        "def merge_url( self, url: URL | str, ) -> URL … Merge a url with the base.": (0, 5)
    }


def test_comment_of_a_file_without_definitions_is_quoted():
    code = '"""Harbour is a planner for the moorings of ships."""\n\nimport os\n'
    assert quotes(code) == {"Harbour is a planner for the moorings of ships.": (0, 1)}


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ("import os, sys, json, re, time, math, enum, abc as abstract", "a.py"),
        ("def f(x):\n    return x", "a.py"),
        ("# Copyright 2024 by the authors of this package, who are many.\n# All rights reserved.", "a.py"),
        ("# type: ignore because the library that we use has no types yet\nx = 1", "a.py"),
        ("# if x: return foo(bar, y=1) or baz(quux, z=2)\nx = 1", "a.py"),
        ('SQL = """\nselect the name of every user that is in the table\n"""', "a.py"),
        ("```python\n# The number of files that are read at the same time.\n```", "a.md"),
    ],
)
def test_other_code_is_not_evidence(code, path):
    assert quotes(code, path) == {}


def test_head_that_was_cut_short_is_not_quoted():
    code = "def f(a: int, b: int, c: int, d: int, e: int, g: int):"
    given = chunk(code, path="a.py", chunk_type="code", signature=code[:40])
    assert compress_evidence([given], 20, 3, CompressionConfig()) == []


def test_lines_are_counted_as_in_editors():
    code = (
        "x = 1\r\n\r# The number of files that are\r\n# read at the same time.\ndef count(files):\n    pass\n"
    )
    text = "The number of files that are read at the same time. … def count(files)"
    assert quotes(code) == {text: (2, 5)}
