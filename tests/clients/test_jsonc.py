"""Edits of JSON with comments, which change nothing but the entry."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.clients.editing import UneditableSettingsError, UnreadableSettingsError
from cairn.clients.jsonc import JsoncEditor

EDITOR = JsoncEditor()
KEYS = ("mcpServers", "cairn")
ENTRY = {"command": "cairn", "args": ["mcp"]}


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
def test_entry_is_written_in_the_files_style(before: str, after: str) -> None:
    assert EDITOR.set(before, KEYS, ENTRY, {}) == after


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
def test_invalid_text_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(UnreadableSettingsError, match=f"line {line}"):
        EDITOR.set(text, KEYS, ENTRY, {})


def test_container_that_is_not_an_object_is_left_alone() -> None:
    with pytest.raises(UneditableSettingsError, match='line 2: "mcpServers" is not an object'):
        EDITOR.set('{\n  "mcpServers": []\n}', KEYS, ENTRY, {})


def test_additions_beside_the_entry_are_kept() -> None:
    hollows = EDITOR.hollows("{ }", KEYS)
    changed = EDITOR.set(EDITOR.set("{ }", KEYS, ENTRY, {}), ("mcpServers", "y"), {}, {})
    restored = EDITOR.restore(EDITOR.remove(changed, KEYS), hollows, {})
    assert restored is not None
    assert json.loads(restored) == {"mcpServers": {"y": {}}}


def test_comment_beside_the_entry_is_kept() -> None:
    text = EDITOR.set("", KEYS, ENTRY, {}).replace('"cairn":', '// kept\n    "cairn":')
    restored = EDITOR.restore(EDITOR.remove(text, KEYS), {"": None}, {})
    assert restored is not None
    assert "// kept" in restored


# --- documents -------------------------------------------------------------------------------------

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
def documents(draw: Any) -> str:
    """Draw settings with and without other servers."""
    settings = draw(st.dictionaries(_words, _values, max_size=2))
    servers = draw(st.none() | st.dictionaries(_words, st.just({"command": "x"}), max_size=2))
    if servers is not None:
        settings["mcpServers"] = servers
    newline = draw(_newlines)
    return draw(_blanks(newline)) + draw(_text_of(settings, newline)) + draw(_blanks(newline))


@given(documents())
def test_adding_and_removing_an_entry_keeps_every_character(text: str) -> None:
    before = EDITOR.parse(text)
    hollows = EDITOR.hollows(text, KEYS)
    added = EDITOR.set(text, KEYS, ENTRY, {"$schema": "x"})
    expected = {**before, "mcpServers": {**before.get("mcpServers", {}), "cairn": ENTRY}}
    assert EDITOR.parse(added) == expected
    assert EDITOR.restore(EDITOR.remove(added, KEYS), hollows, {"$schema": "x"}) == text


@given(documents())
def test_entry_is_replaced_in_its_place(text: str) -> None:
    once = EDITOR.set(text, KEYS, ENTRY, {})
    other = {"command": "elsewhere/cairn", "args": ["mcp"]}
    replaced = EDITOR.set(once, KEYS, other, {})
    assert EDITOR.parse(replaced)["mcpServers"]["cairn"] == other
    assert EDITOR.remove(replaced, KEYS) == EDITOR.remove(once, KEYS)


@given(st.text(st.sampled_from('{}[]",:/* \n1a\\'), max_size=30))
def test_any_text_is_edited_or_refused(text: str) -> None:
    try:
        added = EDITOR.set(text, KEYS, ENTRY, {})
    except (UnreadableSettingsError, UneditableSettingsError):
        return
    assert EDITOR.parse(added)["mcpServers"]["cairn"] == ENTRY
