"""Quotations of code: heads with their documentation, documentation alone, heads alone."""

from __future__ import annotations

from textwrap import dedent

import pytest
from tests.discovery.discovery_builders import chunk

from cairn.discovery.compression import compress_evidence
from cairn.settings.discovery import CompressionConfig
from cairn.text.verbatim import stands_in


def quotes(code, path="src/app.py", signature="", language="python", chunk_type="code", **config):
    code = dedent(code).strip("\n")
    given = chunk(code, path=path, chunk_type=chunk_type, signature=signature, language=language)
    bullets = compress_evidence([given], 20, 3, CompressionConfig(**config))
    return {b.text: (b.lines[0] - 10, b.lines[1] - 10) for b in bullets}


def test_python_head_is_quoted_with_its_docstrings_first_sentence():
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


def test_closing_quotes_belong_to_a_docstring_of_one_line():
    code = '''
        def size(self) -> int:
            """Bytes of all files in this folder."""
    '''
    assert list(quotes(code, signature="def size(self) -> int")) == [
        'def size(self) -> int: """Bytes of all files in this folder."""'
    ]


def test_head_and_docstring_may_span_several_lines():
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


def test_comment_is_joined_with_the_head_below():
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


def test_long_comment_is_quoted_alone():
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


def test_only_the_first_sentence_of_a_comment_is_joined():
    code = """
        // Start begins a run.
        // Call it once for each of the names.
        func Start(name string) error {
    """
    assert quotes(code, path="run.go", signature="func Start(name string) error", language="go") == {
        "Start begins a run. … func Start(name string) error": (0, 3),
        "Call it once for each of the names.": (1, 2),
    }


def test_block_comment_is_quoted_without_its_marks():
    code = """
        /**
         * Calls the function for each interceptor that has
         * not been removed from the list.
         *
         * @param {Function} fn what to call with each of the interceptors in turn
         */
        forEach(fn) {
    """
    head = "Calls the function for each interceptor that has not been removed from the list. … forEach(fn)"
    assert quotes(code, path="core.js", signature="forEach(fn)", language="javascript") == {
        head: (1, 7),
        "@param {Function} fn what to call with each of the interceptors in turn": (4, 5),
    }


HEADS = {
    "jsdoc": ("js", "/**\n * Adds a route.\n * @param {string} path\n */\napp.use = function use(path) {", "Adds a route. … app.use = function use(path)"),  # noqa: E501
    "one line of jsdoc": ("ts", "/** Parses input. */\nexport const parse = async (input: string): Promise<T> => {", "Parses input. export const parse = async (input: string): Promise<T>"),  # noqa: E501
    "interface of typescript": ("ts", "  /** Called before a render. */\n  _diff?(vnode: VNode): void;", "Called before a render. _diff?(vnode: VNode): void"),  # noqa: E501
    "attributes of rust": ("rs", "/// A router.\n#[derive(Debug, Clone)]\n#[must_use]\npub struct Router<S = ()> {", "A router. … pub struct Router<S = ()>"),  # noqa: E501
    "annotations of java": ("java", "  /**\n   * Reads a value. And more.\n   */\n  @Override\n  @SuppressWarnings({\"a\", \"b\"}) // why\n  public <T> T read(Reader in)\n      throws IOException {", "Reads a value. … public <T> T read(Reader in) throws IOException"),  # noqa: E501
    "c": ("c", "/* Closes the handle. */\nstatic int\nuv__close(uv_handle_t* handle) {", "Closes the handle. static int uv__close(uv_handle_t* handle)"),  # noqa: E501
    "prototype of c": ("h", "// Closes it.\nUV_EXTERN void uv_close(uv_handle_t* handle, uv_close_cb cb);", "Closes it. UV_EXTERN void uv_close(uv_handle_t* handle, uv_close_cb cb)"),  # noqa: E501
    "ruby": ("rb", "  # Adds a filter.\n  def before(path = /./, &block)\n    add path", "Adds a filter. def before(path = /./, &block)"),  # noqa: E501
    "csharp": ("cs", "    /// <summary>\n    /// Construct a <see cref=\"Logger\"/> now.\n    /// </summary>\n    /// <param name=\"x\">What.</param>\n    [Obsolete(\"no\")]\n    public Logger(int x)\n    {", "Construct a `Logger` now. … public Logger(int x)"),  # noqa: E501
    "php": ("php", "    /**\n     * Add a route.\n     */\n    #[Pure]\n    public function map(array $methods, string $p): Route\n    {", "Add a route. … public function map(array $methods, string $p): Route"),  # noqa: E501
    "kotlin": ("kt", "/**\n * Installs a plugin.\n */\n@KtorDsl\npublic fun <T : Any> Pipe<*>.install(plugin: T): Unit =\n    go()", "Installs a plugin. … public fun <T : Any> Pipe<*>.install(plugin: T): Unit"),  # noqa: E501
    "swift": ("swift", "    /// Creates a request.\n    ///\n    /// - Parameter url: The URL.\n    @discardableResult\n    open func request(_ url: URL,\n                      to: String = \"\") -> Request {", "Creates a request. … open func request(_ url: URL, to: String = \"\") -> Request"),  # noqa: E501
    "elixir": ("ex", "  @doc \"\"\"\n  Starts it.\n  \"\"\"\n  @doc since: \"1.0\"\n  @spec start(map()) :: :ok\n  def start(opts) when is_map(opts) do", "Starts it. … def start(opts) when is_map(opts)"),  # noqa: E501
    "module of elixir": ("ex", "defmodule Oban.Job do\n  @moduledoc \"\"\"\n  A job.\n  \"\"\"", "defmodule Oban.Job … A job."),  # noqa: E501
    "decorated python": ("py", "@cached\n@app.route('/x')\nasync def f(\n    *args,\n    key=1,\n) -> None:\n    r\"\"\"Does **it**. And more.\"\"\"", "async def f( *args, key=1, ) -> None: r\"\"\"Does it."),  # noqa: E501
    "comment over python": ("py", "# Counts the files.\ndef count(files):", "Counts the files. def count(files)"),  # noqa: E501
    "macro of c": ("h", "/* The larger one. */\n#define MAX(a, b) \\\n  ((a) > (b))", "The larger one. #define MAX(a, b)"),  # noqa: E501
}  # fmt: skip


@pytest.mark.parametrize(("extension", "code", "expected"), HEADS.values(), ids=HEADS.keys())
def test_heads_of_many_languages_are_quoted_with_their_documentation(extension, code, expected):
    found = quotes(code, path=f"a.{extension}", language="", min_sentence_words=2)
    assert expected in found
    assert stands_in(expected, code.split("\n")[slice(*found[expected])])


@pytest.mark.parametrize(
    ("extension", "code"),
    [
        ("js", "{\n  // Run it only once.\n  const x = compute(a, b);"),
        ("js", "// Run it only once.\nif (x) {"),
        ("js", "// Run it only once.\nrun(x);"),
        ("c", "  // Run it only once.\n  return run(x);"),
        ("c", "// Run it only once.\n#if defined(_AIX)\nint f(int a) {"),
        ("swift", "  // Run it only once.\n  async let first = run(x)\n"),
        ("java", "  // Run it only once.\n  Type<?> t = Enclosing.class.getType();"),
        ("py", "# Run it only once.\nx = run(y)"),
        ("go", "// Run it only once.\n\n\nfunc Run() {"),
        ("cs", "/// Run it only once.\npublic class Runner : IRun\n#if ASYNC\n  , IAsync\n#endif\n{"),
        ("ts", "// Run it only once.\nexport function run(\n  a: string,"),
    ],
)
def test_comment_above_other_code_is_quoted_alone(extension, code):
    found = quotes(code, path=f"a.{extension}", language="", min_sentence_words=2)
    assert list(found) == ["Run it only once."]


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
            "def f(a: int, b: int, c: int, d: int,",
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
def test_other_code_is_not_evidence(code, path, signature):
    assert quotes(code, path=path, signature=signature) == {}


def test_head_alone_must_have_enough_words_but_not_too_many():
    code = "def f(a: int, b: int, c: int, d: int) -> dict[str, int]:\n    return {}"
    assert quotes(code, signature=code.split("\n")[0]) == {
        "def f(a: int, b: int, c: int, d: int) -> dict[str, int]": (0, 1)
    }
    assert quotes(code, signature=code.split("\n")[0], max_sentence_words=9) == {}


def test_comment_behind_the_head_is_left_out():
    code = "def f(a: int, b: int, c: int, d: int) -> None:  # so far\n    pass"
    signature = "def f(a: int, b: int, c: int, d: int) -> None: # so far"
    assert quotes(code, signature=signature) == {"def f(a: int, b: int, c: int, d: int) -> None": (0, 1)}


def test_head_with_a_line_like_a_comment_is_not_quoted():
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
def test_comment_marks_of_many_languages_are_known(path, language, mark):
    code = f"{mark} The number of files that are\n{mark} read at the same time.\nx"
    kind = "config" if path.endswith("yml") else "code"
    assert quotes(code, path=path, language=language, chunk_type=kind) == {
        "The number of files that are read at the same time.": (0, 2)
    }


def test_code_in_a_markdown_file_is_not_evidence():
    code = "```python\n# The number of files that are read at the same time.\n```"
    assert quotes(code, path="a.md") == {}


def test_lines_are_counted_as_in_editors():
    code = "x = 1\r# The number of files that are\r\n# read at the same time.\n"
    assert quotes(code) == {"The number of files that are read at the same time.": (1, 3)}
