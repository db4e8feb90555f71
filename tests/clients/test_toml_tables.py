"""Edits of TOML, which change nothing but the table of the entry."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cairn.clients.editing import UneditableSettingsError, UnreadableSettingsError
from cairn.clients.toml_tables import TomlEditor

EDITOR = TomlEditor()
KEYS = ("mcp_servers", "cairn")
ENTRY = {"command": "C:\\bin\\cairn.exe", "args": ["mcp", 'a "b"\x7f']}
TABLE = '[mcp_servers.cairn]\ncommand = "C:\\\\bin\\\\cairn.exe"\nargs = ["mcp", "a \\"b\\"\\u007f"]'


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
    assert EDITOR.set(before, KEYS, ENTRY, {}) == after


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
    added = EDITOR.set(text, KEYS, ENTRY, {})
    assert EDITOR.remove(added, KEYS) == text


def test_tables_inside_the_entry_are_removed_with_it() -> None:
    text = EDITOR.set("a = 1\n", KEYS, ENTRY, {})
    text += '\n[mcp_servers.cairn.tools.search]\napproval_mode = "approve"\n\n# mine\n[b]\nc = 1\n'
    assert EDITOR.remove(text, KEYS) == "a = 1\n\n# mine\n[b]\nc = 1\n"


@pytest.mark.parametrize("text", ["mcp_servers = {}\n", 'mcp_servers = { x = { command = "x" } }\n'])
def test_servers_that_are_not_tables_are_left_alone(text: str) -> None:
    with pytest.raises(UneditableSettingsError, match="mcp_servers"):
        EDITOR.set(text, KEYS, ENTRY, {})
    with pytest.raises(UneditableSettingsError, match="by hand"):
        EDITOR.remove('mcp_servers.cairn.command = "cairn"\n', KEYS)


def test_invalid_text_is_refused_with_its_line() -> None:
    with pytest.raises(UnreadableSettingsError, match="line 2"):
        EDITOR.set("a = 1\nb = \n", KEYS, ENTRY, {})


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
def documents(draw: Any) -> str:
    """Draw lines that may form a document."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    lines = draw(st.lists(st.sampled_from(_LINES), max_size=8, unique=True))
    text = newline.join(lines) + draw(st.sampled_from(["", newline]))
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        assume(False)
    return text


@given(documents())
def test_adding_and_removing_a_table_keeps_every_character(text: str) -> None:
    before = EDITOR.parse(text)
    hollows = EDITOR.hollows(text, KEYS)
    added = EDITOR.set(text, KEYS, ENTRY, {})
    expected = {**before, "mcp_servers": {**before.get("mcp_servers", {}), "cairn": ENTRY}}
    assert EDITOR.parse(added) == expected
    assert EDITOR.restore(EDITOR.remove(added, KEYS), hollows, {}) == text
    later = f"{added}\n[projects]\nx = 1\n"
    assert EDITOR.remove(later, KEYS) in (f"{text}\n[projects]\nx = 1\n", "[projects]\nx = 1\n")
