"""What is quoted from code: heads with their documentation, documentation alone, heads alone."""

from __future__ import annotations

from textwrap import dedent

import pytest
from discovery_builders import chunk

from cairn.discovery import CompressionConfig, compress_evidence


def quotes(code, path="src/app.py", signature="", language="python", chunk_type="code", **config):
    code = dedent(code).strip("\n")
    given = chunk(code, path=path, chunk_type=chunk_type, signature=signature, language=language)
    bullets = compress_evidence([given], 20, 3, CompressionConfig(**config))
    return {b.text: (b.line_range[0] - 10, b.line_range[1] - 10) for b in bullets}


def test_a_python_head_is_quoted_with_the_first_sentence_of_its_docstring():
    code = '''
        @decorated
        def match(self, request: Request) -> Rule:
            """Find the rule that answers the request.

            The first rule that matches wins, whatever the order of registration was.
            """
            return self.rules[0]
    '''
    assert quotes(code, signature="def match(self, request: Request) -> Rule:") == {
        'def match(self, request: Request) -> Rule: """Find the rule that answers the request.': (1, 3),
        "The first rule that matches wins, whatever the order of registration was.": (4, 5),
    }


def test_the_closing_quotes_belong_to_a_docstring_of_one_line():
    code = '''
        def size(self) -> int:
            """Bytes of all files in this folder."""
    '''
    assert list(quotes(code, signature="def size(self) -> int")) == [
        'def size(self) -> int: """Bytes of all files in this folder."""'
    ]


def test_a_head_over_several_lines_and_a_docstring_that_starts_below_its_quotes():
    code = '''
        def merge_url(
            self,
            url: URL | str,
        ) -> URL:
            """
            Merge a url with the base
            url of the client.
            """
    '''
    signature = "def merge_url( self, url: URL | str, ) -> URL:"
    assert quotes(code, signature=signature) == {
        f'{signature} """ Merge a url with the base url of the client.': (0, 7)
    }


def test_a_comment_is_read_on_into_the_head_below_it():
    code = """
        // HasFlags checks if the command
        // contains persistent flags.
        func (c *Command) HasFlags() bool {
            return c.flags != nil
        }
    """
    text = "HasFlags checks if the command contains persistent flags. func (c *Command) HasFlags() bool"
    found = quotes(code, path="command.go", signature="func (c *Command) HasFlags() bool", language="go")
    assert found == {text: (0, 3)}


def test_a_comment_too_long_to_join_the_head_is_quoted_alone():
    code = """
        /// Reads the whole file into memory and checks that it is valid text, which takes a while.
        ///
        /// Lines end at newlines only.
        fn read(path: &Path, limit: usize, retries: u32, strict: bool, log: &Log) -> Result<String> {
    """
    signature = "fn read(path: &Path, limit: usize, retries: u32, strict: bool, log: &Log) -> Result<String>"
    assert quotes(code, path="io.rs", signature=signature, language="rust") == {
        "Reads the whole file into memory and checks that it is valid text, which takes a while.": (0, 1),
        signature: (3, 4),
    }


def test_a_comment_with_more_than_a_paragraph_is_not_read_on_into_the_head():
    code = """
        // # Usage
        // Call it once at the start of a run.
        func Start(name string) error {
    """
    assert quotes(code, path="run.go", signature="func Start(name string) error", language="go") == {
        "Call it once at the start of a run.": (1, 2)
    }


def test_a_block_comment_is_quoted_without_its_marks():
    code = """
        /**
         * Calls the function for each interceptor that has
         * not been removed from the list.
         *
         * @param {Function} fn what to call with each of the interceptors in turn
         */
        forEach(fn) {
    """
    assert quotes(code, path="core.js", signature="forEach(fn)", language="javascript") == {
        "Calls the function for each interceptor that has not been removed from the list.": (1, 3),
        "@param {Function} fn what to call with each of the interceptors in turn": (4, 5),
    }


@pytest.mark.parametrize(
    ("code", "path", "signature"),
    [
        ("import os, sys, json, re, time, math, enum, abc as abstract", "a.py", ""),
        ("from typing import Any, Callable, Iterator, Mapping, Sequence, Set, Tuple", "a.py", ""),
        ("} else { return a + b + c + d + e; } // so far", "a.js", ""),
        ("def f(x):\n    return x", "a.py", "def f(x):"),
        ("def f(x, y):\n    # x y\n    return x", "a.py", "def f(x, y):"),
        # A signature that was cut short, and one that is not in the text.
        (
            "def f(a: int, b: int, c: int, d: int, e: int, g: int):",
            "a.py",
            "def f(a: int, b: int, c: int, d: int, e: int,",
        ),
        ("x = 1", "a.py", "def f(a: int, b: int, c: int, d: int, e: int) -> None"),
        (
            "# Copyright 2024 by the authors of this package, who are many.\n# All rights reserved.",
            "a.py",
            "",
        ),
        ("# type: ignore because the library that we use has no types yet", "a.py", ""),
        ("# TODO: this should be done in another way some day soon", "a.py", ""),
        ('SQL = """\nselect the name of every user that is in the table\n"""', "a.py", ""),
        ('f("""\nselect the name of every user that is in the table\n""")\nx = 1', "a.py", ""),
        ("# if x: return foo(bar, y=1) or baz(quux, z=2)", "a.py", ""),
        ("int a = b\n  % c and this is not a comment in any way", "a.c", ""),
    ],
)
def test_what_is_no_evidence_in_code(code, path, signature):
    assert quotes(code, path=path, signature=signature) == {}


def test_a_head_alone_must_fill_the_word_window():
    code = "def f(a: int, b: int, c: int, d: int) -> dict[str, int]:\n    return {}"
    assert quotes(code, signature=code.split("\n")[0]) == {
        "def f(a: int, b: int, c: int, d: int) -> dict[str, int]": (0, 1)
    }
    assert quotes(code, signature=code.split("\n")[0], max_sentence_words=9) == {}


def test_a_comment_behind_the_head_is_left_out():
    code = "def f(a: int, b: int, c: int, d: int) -> None:  # so far\n    pass"
    signature = "def f(a: int, b: int, c: int, d: int) -> None: # so far"
    assert quotes(code, signature=signature) == {"def f(a: int, b: int, c: int, d: int) -> None": (0, 1)}


def test_a_head_with_a_line_that_reads_like_a_comment_is_not_quoted():
    code = "int f(int a, int b, int c, int d[2\n    * 3], int e, int g, int h);"
    assert quotes(code, path="f.c", language="c", signature=" ".join(code.split())) == {}
    code = "def f(\n    *args: int,\n    keyword: int, other: int, third: int\n) -> dict[str, int]:"
    assert len(quotes(code, signature=" ".join(code.split()))) == 1


@pytest.mark.parametrize(
    ("path", "language", "mark"),
    [
        ("a.sql", "sql", "--"),
        ("a.lisp", "lisp", ";;"),
        ("a.tex", "latex", "%"),
        ("a.yml", "yaml", "#"),
        ("a.py", "", "#:"),
    ],
)
def test_comment_marks_of_many_languages(path, language, mark):
    code = f"{mark} The number of files that are\n{mark} read at the same time.\nx"
    kind = "config" if path.endswith("yml") else "code"
    assert quotes(code, path=path, language=language, chunk_type=kind) == {
        "The number of files that are read at the same time.": (0, 2)
    }


def test_code_in_a_markdown_file_is_a_fence_and_not_evidence():
    code = "```python\n# The number of files that are read at the same time.\n```"
    assert quotes(code, path="a.md") == {}


def test_lines_are_counted_as_editors_count_them():
    code = "x = 1\r# The number of files that are\r\n# read at the same time.\n"
    assert quotes(code) == {"The number of files that are read at the same time.": (1, 3)}
