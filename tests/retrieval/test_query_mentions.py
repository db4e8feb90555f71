"""Queries mention paths, quotes, error codes, code and stack traces."""

from __future__ import annotations

import pytest

from cairn.retrieval.mentions import MAX_LITERAL_CHARS, MAX_MENTIONS
from cairn.retrieval.query import understand
from cairn.retrieval.question_kinds import QueryType


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("src/flask/app.py", ("src/flask/app.py",)),
        ("what is in app.py?", ("app.py",)),
        ("app.py:120", ("app.py",)),
        ("src/main.rs:12:5", ("src/main.rs",)),
        ("lib/a.rb#L7", ("lib/a.rb",)),
        ("retries in client/connector", ("client/connector",)),
        ("handlers/*.go", ("handlers/*.go",)),
        ("where does *.proto come from", ("*.proto",)),
        ("./scripts/run.sh fails", ("scripts/run.sh",)),
        (r"C:\proj\src\main.rs", ("proj/src/main.rs",)),
        ("everything below tests/", ("tests",)),
        ("compare a/b.py and c/d.py", ("a/b.py", "c/d.py")),
        ("how safeParse returns a success/error result", ()),
        ("request/response", ()),
        ("streams in node.js", ()),
        ("z.map and re.match and list.sort()", ()),
        ("write to me@example.com", ()),
        ("version 1.2.3 of it", ()),
    ],
)
def test_paths_are_read_without_their_lines(text: str, paths: tuple[str, ...]) -> None:
    assert understand(text).paths == paths


def test_a_line_number_is_not_a_term() -> None:
    assert understand("app.py:120").terms == ("app", "py")


def test_a_path_alone_is_a_location() -> None:
    query = understand("src/flask/app.py")
    assert (query.type, query.names) == (QueryType.LOCATION, ())


@pytest.mark.parametrize(
    ("text", "phrases"),
    [
        ('the "secret key" here', ("secret key",)),
        ("what does `open_session()` do", ("open_session()",)),
        ("say 'berth is taken' when", ("berth is taken",)),
        ("“curly quotes” too", ("curly quotes",)),
        ("the users' and the admins' rights", ()),
        ("it's what the client's don't", ()),
        ('""', ()),
    ],
)
def test_quotes_are_phrases_and_literals(text: str, phrases: tuple[str, ...]) -> None:
    query = understand(text)
    assert (query.phrases, query.literals) == (phrases, phrases)


@pytest.mark.parametrize(
    "code",
    [
        "E0308", "ERR_MODULE_NOT_FOUND", "TS2345", "CS0103", "HTTP 404", "0x80070005", "SQLSTATE 23505",
        "ECONNREFUSED", "ORA-00942",
    ],
)  # fmt: skip
@pytest.mark.parametrize("sentence", ["{}", "why do I get {} on start"])
def test_an_error_code_stays_whole(code: str, sentence: str) -> None:
    query = understand(sentence.format(code))
    assert query.type is QueryType.BUG_FIX
    assert code in query.compounds
    assert code in query.literals
    assert code in query.spellings


@pytest.mark.parametrize(
    "text",
    ["sha256 digest", "SHA256", "RFC7231 caching", "UTF16 text", "ISO8601 dates", "EXAMPLE", "X509 chain"],
)
def test_other_words_with_numbers_are_not_error_codes(text: str) -> None:
    query = understand(text)
    assert (query.literals, query.type is QueryType.BUG_FIX) == ((), False)


@pytest.mark.parametrize(
    ("text", "literals"),
    [
        ("=>", ("=>",)),
        ("?.", ("?.",)),
        ("!==", ("!==",)),
        ("#[derive(", ("#[derive(",)),
        ("std::move(", ("std::move(",)),
        ("%s:%d", ("%s:%d",)),
        ("what does ?. do", ("?.",)),
        ("what does => mean?", ("=>",)),
        ("how is Vec<T> grown", ("Vec<T>",)),
        ("what is the --no-cache flag for", ("--no-cache",)),
        ("where is @app.route defined", ("@app.route",)),
        ("if err != nil {", ("if err != nil {",)),
        ("useState(0)", ("useState(0)",)),
        ("x = await fetch(url)", ("x = await fetch(url)",)),
        ("ValueError: berth is taken", ("berth is taken",)),
    ],
)
def test_code_is_searched_verbatim(text: str, literals: tuple[str, ...]) -> None:
    assert understand(text).literals == literals


@pytest.mark.parametrize(
    "text",
    [
        "how does routing work?",
        "C++ templates and C# generics",
        "the client -> server flow",
        "which file(s) are read (and when)",
        "how sub-applications are mounted with use() and path prefix stripping",
        "response helper methods: halt, pass and redirect",
        "how .refine and .superRefine add custom validation",
        "core command execution & command tree - in short",
        "is 50% of $5 > 2",
        "Sinatra::Base",
        "add_url_rule",
        "O que é o vectorizer?",
    ],
)
def test_plain_questions_have_no_literals(text: str) -> None:
    assert understand(text).literals == ()


def test_only_the_first_pieces_of_a_paste_are_literals() -> None:
    query = understand(
        "\n".join(f"call_{n}(x) = {{{'y' * (n % 2) * MAX_LITERAL_CHARS}}};" for n in range(30))
    )
    assert len(query.literals) == MAX_MENTIONS
    assert max(map(len, query.literals)) <= MAX_LITERAL_CHARS


PYTHON_TRACE = """Traceback (most recent call last):
  File "/home/me/port/src/app.py", line 12, in full_dispatch
    return self.handle()
  File "lib/berths.py", line 40, in moor_ship
    raise ValueError("berth is taken")
ValueError: berth is taken
"""


@pytest.mark.parametrize(
    ("trace", "paths", "words"),
    [
        (PYTHON_TRACE, ("lib/berths.py", "home/me/port/src/app.py"), {"moor", "ship", "berth", "taken"}),
        ("at Foo.bar (src/foo.ts:10:5)", ("src/foo.ts",), {"foo", "bar"}),
        ("TypeError: no\n    at async load (/app/x.js:3:1)", ("app/x.js",), {"load", "type", "error"}),
        ("\tat com.acme.Bar.baz(Bar.java:42)", ("Bar.java",), {"bar", "baz"}),
        ("  at App.Run() in C:\\src\\App.cs:line 7", ("src/App.cs",), {"app", "run"}),
        ("error[E0308]: mismatched\n  --> src/main.rs:4:5", ("src/main.rs",), {"e0308", "mismatched"}),
        ("lib/x.rb:12:in `moor'", ("lib/x.rb",), {"moor"}),
        ("main.run()\n\t/go/src/x/run.go:8 +0x1d", ("go/src/x/run.go",), {"run"}),
    ],
)
def test_a_stack_trace_names_files_functions_and_the_error(
    trace: str, paths: tuple[str, ...], words: set[str]
) -> None:
    query = understand(trace)
    assert (query.type, query.paths) == (QueryType.BUG_FIX, paths)
    assert words <= set(query.terms)


def test_a_trace_counts_by_its_message_without_folders() -> None:
    query = understand(PYTHON_TRACE)
    assert query.terms[:4] == ("value", "error", "berth", "taken")
    assert not {"home", "me", "line", "traceback"} & set(query.terms)
    assert {"moor_ship", "full_dispatch"} <= set(query.names)


@pytest.mark.parametrize(
    ("text", "required"),
    [
        ('"may not leave"', ("may not leave",)),
        ("“may not leave” the dock", ("may not leave",)),
        ('"getBerth(" "=>"', ("getBerth(", "=>")),
        ('where is "berth is taken"?', ("berth is taken",)),
        ('moor("berth", "ship")', ()),
        ('{"berth": "ship"}', ()),
        ('BerthError: "berth 3" is taken by "Anna"', ()),
        ("the ship's berth isn't the harbour's", ()),
        ("`may not leave` and 'is taken'", ()),
        ('a 3" pipe and a 4" pipe', ()),
    ],
)
def test_texts_in_double_quotes_are_required(text: str, required: tuple[str, ...]) -> None:
    assert understand(text).required == required


def test_quote_marks_are_no_part_of_quoted_code() -> None:
    assert understand('"getBerth("').literals == ("getBerth(",)
