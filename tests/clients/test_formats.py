"""Edits of JSON with comments and of TOML, which change nothing but the entry."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cairn.clients.formats import Format, format_of
from cairn.clients.settings_files import UneditableSettingsError, UnreadableSettingsError

JSON, TOML = format_of(Path("mcp.json")), format_of(Path("config.toml"))
IN_JSON, IN_TOML = ("mcpServers", "cairn"), ("mcp_servers", "cairn")
ENTRY = {"command": "cairn", "args": ["mcp"]}
HARD_ENTRY = {"command": "C:\\bin\\cairn.exe", "args": ["mcp", 'a "b"\x7f']}
TABLE = '[mcp_servers.cairn]\ncommand = "C:\\\\bin\\\\cairn.exe"\nargs = ["mcp", "a \\"b\\"\\u007f"]'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "",
            (
                '{\n  "mcpServers": {\n    "cairn": {\n      "command": "cairn",\n      "args": ["mcp"]\n  '
                "  }\n  }\n}\n"
            ),
        ),
        (
            '{\n    // servers\n    "mcpServers": {\n        "x": {"command": "x"}, // mine\n    },\n}\n',
            '{\n    // servers\n    "mcpServers": {\n        "x": {"command": "x"}, // mine\n        '
            '"cairn": {\n            "command": "cairn",\n            "args": ["mcp"]\n        },\n    '
            "},\n}\n",
        ),
        (
            '{\n\t"mcpServers": {\n\t\t"x": {} // mine\n\t}\n}',
            '{\n\t"mcpServers": {\n\t\t"x": {}, // mine\n\t\t"cairn": {\n\t\t\t"command": "cairn",\n'
            '\t\t\t"args": ["mcp"]\n\t\t}\n\t}\n}',
        ),
        (
            '{"mcpServers": {"x": {}}}',
            '{"mcpServers": {"x": {}, "cairn": {"command": "cairn", "args": ["mcp"]}}}',
        ),
        (
            '{\r\n  "theme": "dark"\r\n}\r\n',
            '{\r\n  "theme": "dark",\r\n  "mcpServers": {\r\n    "cairn": {\r\n      "command": "cairn",\r\n'
            '      "args": ["mcp"]\r\n    }\r\n  }\r\n}\r\n',
        ),
        (
            '{\n  "mcpServers": {\n    "cairn": {"command": "old"}, // here\n    "y": {}\n  }\n}',
            '{\n  "mcpServers": {\n    "cairn": {\n      "command": "cairn",\n      "args": ["mcp"]\n    '
            '}, // here\n    "y": {}\n  }\n}',
        ),
    ],
    ids=["blank", "trailing-comma", "comment", "one-line", "crlf", "replaced"],
)
def test_json_entry_is_written_in_the_files_style(before: str, after: str) -> None:
    assert JSON.edited(before, {IN_JSON: ENTRY}) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"{TABLE}\n"),
        ('model = "x"\n', f'model = "x"\n\n{TABLE}\n'),
        ('model = "x" # end', f'model = "x" # end\n\n{TABLE}'),
        ('model = "x"\r\n\r\n', f'model = "x"\n\n{TABLE}\n\n'.replace("\n", "\r\n")),
        (
            '[mcp_servers.cairn]\ncommand = "old"\n\n[mcp_servers.cairn.env]\nA = "1"\n\n# about b\n[b]\n',
            f"{TABLE}\n\n# about b\n[b]\n",
        ),
    ],
    ids=["blank", "end", "no-newline", "crlf", "replaced"],
)
def test_table_is_written_at_the_end_or_in_its_place(before: str, after: str) -> None:
    assert TOML.edited(before, {IN_TOML: HARD_ENTRY}) == after


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', 3),
        ('{\n  // never ends\n  "a": "x\n}', 3),
        ('{"a": 1', 1),
        ("\n[1]\n", 2),
        ("{}\n{}", 2),
    ],
)
def test_invalid_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(UnreadableSettingsError, match=f"line {line}"):
        JSON.edited(text, {IN_JSON: ENTRY})


def test_invalid_toml_is_refused_with_its_line() -> None:
    with pytest.raises(UnreadableSettingsError, match="line 2"):
        TOML.edited("a = 1\nb = \n", {IN_TOML: ENTRY})


@pytest.mark.parametrize(
    ("form", "text", "problem"),
    [
        (JSON, '{\n  "mcpServers": []\n}', 'line 2: "mcpServers" is not an object'),
        (TOML, "mcp_servers = {}\n", "by hand"),
        (TOML, 'mcp_servers = { x = { command = "x" } }\n', "by hand"),
    ],
)
def test_other_kinds_of_servers_are_left_alone(form: Format, text: str, problem: str) -> None:
    with pytest.raises(UneditableSettingsError, match=problem):
        form.edited(text, {IN_JSON if form is JSON else IN_TOML: ENTRY})


def test_toml_entry_without_a_table_is_not_removed() -> None:
    with pytest.raises(UneditableSettingsError, match="by hand"):
        TOML.without('mcp_servers.cairn.command = "cairn"\n', IN_TOML)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"mcpServers": {"cairn": {}}, "a": {}}', '{ "a": {}}'),
        ('{\n  "mcpServers": {\n    "cairn": {},\n  },\n}', "{\n}"),
        ('{"mcpServers": {"cairn": {}, "y": {}}}', '{"mcpServers": { "y": {}}}'),
        ('{"mcpServers": {/* a */ "cairn": {}}}', '{"mcpServers": {/* a */}}'),
        ('{"mcpServers": {"x": 1, // a\n"cairn": {}}}', '{"mcpServers": {"x": 1 // a\n}}'),
    ],
)
def test_json_entry_is_removed_with_an_object_for_it_alone(before: str, after: str) -> None:
    assert JSON.without(before, IN_JSON) == after


@pytest.mark.parametrize(
    "text",
    [
        'a = """\n[mcp_servers.cairn]\n"""\n',
        "a = [\n[1],\n[2]\n]\n",
        "a = '''\n# [b]\n'''\n[mcp_servers.x]\ncommand = '''\n[c]'''\n",
        '[mcp_servers."cairn.x"]\ncommand = "x"\n',
    ],
)
def test_lookalikes_of_tables_are_kept(text: str) -> None:
    added = TOML.edited(text, {IN_TOML: ENTRY})
    assert TOML.without(added, IN_TOML) == text


def test_tables_inside_the_entry_are_removed_with_it() -> None:
    text = TOML.edited("a = 1\n", {IN_TOML: ENTRY})
    text += '\n[mcp_servers.cairn.tools.search]\napproval_mode = "approve"\n\n# mine\n[b]\nc = 1\n'
    assert TOML.without(text, IN_TOML) == "a = 1\n\n# mine\n[b]\nc = 1\n"


# --- any document ----------------------------------------------------------------------------------

_words = st.text(st.sampled_from('abz {}[]",:/*\\é\u2028'), max_size=6)
_newlines = st.sampled_from(["\n", "\r\n"])
_scalars = st.one_of(_words, st.integers(-9, 9), st.booleans(), st.none())
_values = st.recursive(
    _scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(_words, inner, max_size=2)),
    max_leaves=4,
)


@st.composite
def _blanks(draw: Any, newline: str) -> str:
    """Draw white space and comments."""
    comments = [f'// a, "b" }} {newline}', f"//x  {newline}", "/* { */", f"/*{newline}*/"]
    return "".join(draw(st.lists(st.sampled_from([" ", "  ", newline, "\t", *comments]), max_size=3)))


@st.composite
def _text_of(draw: Any, value: Any, newline: str) -> str:
    """Draw a JSON text with blanks, comments and trailing commas in all valid places."""
    between = _blanks(newline)
    if not isinstance(value, dict | list) or not value:
        opened = {dict: "{}", list: "[]"}.get(type(value))
        if opened is None:
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        return opened[0] + draw(between) + opened[1]
    is_object = isinstance(value, dict)
    members = []
    for each in value.items() if is_object else value:
        key = f"{json.dumps(each[0])}{draw(between)}:{draw(between)}" if is_object else ""
        inner = draw(_text_of(each[1] if is_object else each, newline))
        members.append(f"{draw(between)}{key}{inner}{draw(between)}")
    comma = draw(st.sampled_from(["", ","]))
    text = ",".join(members) + comma + draw(between)
    return f"{{{text}}}" if is_object else f"[{text}]"


@st.composite
def _json_texts(draw: Any) -> str:
    """Draw settings with and without other servers."""
    settings = draw(st.dictionaries(_words, _values, max_size=2))
    servers = draw(st.none() | st.dictionaries(_words, st.just({"command": "x"}), max_size=2))
    if servers is not None:
        settings["mcpServers"] = servers
    newline = draw(_newlines)
    return draw(_blanks(newline)) + draw(_text_of(settings, newline)) + draw(_blanks(newline))


_LINES = '''# a comment\x20\x20

\x20\x20\x20
# [mcp_servers.cairn]
a = 1
b.c = 'x' # with [a]
s = """
#x
"""
l = [
[1],
]
[t]
["q.r"] # q
[[u]]
[mcp_servers.x]
  [mcp_servers.y]
command = "x"
[mcp_servers.y.env]'''.split("\n")


@st.composite
def _toml_texts(draw: Any) -> str:
    """Draw lines that may form a document."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    lines = draw(st.lists(st.sampled_from(_LINES), max_size=8, unique=True))
    text = newline.join(lines) + draw(st.sampled_from(["", newline]))
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    return text


@given(_json_texts())
def test_json_keeps_all_other_settings_and_comments(text: str) -> None:
    before = JSON.parse(text)
    added = JSON.edited(text, {IN_JSON: ENTRY})
    assert JSON.parse(added) == {**before, "mcpServers": {**before.get("mcpServers", {}), "cairn": ENTRY}}
    left = JSON.without(added, IN_JSON)
    found = JSON.parse(left)
    assert found == before or {"mcpServers": {}, **found} == before
    for mark in ("//", "/*", "*/"):
        assert left.count(mark) == text.count(mark)
    other = {**ENTRY, "command": "elsewhere/cairn"}
    replaced = JSON.edited(added, {IN_JSON: other})
    assert JSON.parse(replaced)["mcpServers"]["cairn"] == other
    assert JSON.without(replaced, IN_JSON) == left


@given(_toml_texts())
def test_toml_keeps_every_other_character(text: str) -> None:
    before = TOML.parse(text)
    added = TOML.edited(text, {IN_TOML: ENTRY})
    assert TOML.parse(added) == {**before, "mcp_servers": {**before.get("mcp_servers", {}), "cairn": ENTRY}}
    assert TOML.without(added, IN_TOML).strip() == text.strip()
    later = f"{added}\n[projects]\nx = 1\n"
    assert TOML.without(later, IN_TOML) in (f"{text}\n[projects]\nx = 1\n", "[projects]\nx = 1\n")


@given(st.text(st.sampled_from('{}[]",:/* \n1a\\'), max_size=30))
def test_any_text_is_edited_or_refused(text: str) -> None:
    try:
        added = JSON.edited(text, {IN_JSON: ENTRY})
    except (UnreadableSettingsError, UneditableSettingsError):
        return
    assert JSON.parse(added)["mcpServers"]["cairn"] == ENTRY
