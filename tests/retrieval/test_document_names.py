"""Names, files and commands of code are read from documents."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pytest
from attrs import evolve
from slow_texts import used_seconds

from cairn.chunking.chunker import chunk_text
from cairn.index.reader.records import StoredChunk
from cairn.protocol.chunk_types import ChunkType
from cairn.retrieval.document_names import DocumentName, DocumentText, Mark, is_contents, read_document
from cairn.workspace.collections import file_kind

LONG = "".join(f"    quay_{n}.tie_rope_{n}(first_{n})\n" for n in range(80))
"""Code that is too long for one chunk."""


def read_chunks(text: str, path: str = "docs/a.md") -> list[DocumentText]:
    chunks = chunk_text(path, text)
    return [read_document(StoredChunk(0, path, file_kind(path), "", each, "")) for each in chunks]


def read(text: str, path: str = "docs/a.md") -> list[DocumentName]:
    return [name for each in read_chunks(text, path) for name in each.names]


def names(text: str, path: str = "docs/a.md") -> dict[str, Mark]:
    """Return the names with their surest marks, without the heading `A`."""
    found: dict[str, Mark] = {}
    for each in read(text, path):
        whole = f"{each.owner}.{each.name}" if each.owner else each.name
        found[whole] = max(each.mark, found.get(whole, each.mark))
    return found


def commands(text: str) -> list[str]:
    return [word for each in read_chunks(text) for word, _ in each.commands]


def paths(text: str) -> dict[str, int]:
    return {path: line for each in read_chunks(text) for path, line in each.paths}


def modules(text: str) -> Mapping[str, str]:
    return {each.name: each.module for each in read(text) if each.module}


# --- marks -------------------------------------------------------------------------------------------


def test_words_are_names_by_their_marks_or_their_form() -> None:
    text = "Call `moor` or tie_rope, `Berth.clear(now)` or TideTable, then cast off, `a` and e.g. the rope.\n"
    assert names(text) == {
        "moor": Mark.CODE,
        "tie_rope": Mark.WRITTEN,
        "Berth.clear": Mark.CODE,
        "Berth": Mark.CODE,
        "TideTable": Mark.WRITTEN,
    }


def test_headings_mark_names_most_surely() -> None:
    text = "# `moor`\n\nA.\n\n## Berth\n\nB.\n\n## How tie_rope works\n\nC.\n\n## The berth\n"
    assert names(text) == dict.fromkeys(("moor", "Berth", "tie_rope"), Mark.HEADING)


def test_a_call_is_known_by_its_bracket() -> None:
    found = {each.name: each.is_call for each in read("Use `moor(vessel)`, `tie_rope` and hoist().\n")}
    assert found == {"moor": True, "tie_rope": False, "hoist": True}


@pytest.mark.parametrize(
    ("code", "name", "owner"),
    [
        ("port::Berth::moor", "moor", "port.Berth"),
        ("Berth#moor", "moor", "Berth"),
        ("port->moor()", "moor", "port"),
        ("self.moor()", "moor", ""),
        ("await moor(vessel)", "moor", ""),
        ("@moor", "moor", ""),
        ("moor/2", "moor", ""),
        ("&Berth", "Berth", ""),
        ("Port\\Berth::moor()", "moor", "Port.Berth"),
    ],
)
def test_what_precedes_a_name_is_its_owner(code: str, name: str, owner: str) -> None:
    assert (name, owner) in {(each.name, each.owner) for each in read(f"See `{code}` for this.\n")}


def test_tags_mark_code_in_html() -> None:
    assert names("Call <code>moor</code> or <tt>tie</tt>.\n") == {"moor": Mark.CODE, "tie": Mark.CODE}


def test_addresses_and_mails_hold_no_names() -> None:
    text = "See https://example.com/read_file/FileReader and ada@my_port.org or [it](https://my_site.org).\n"
    assert names(text) == {}
    assert paths(text) == {}


@pytest.mark.parametrize("path", ["docs/a.rst", "docs/a.txt"])
def test_roles_and_directives_of_restructured_text_name_code(path: str) -> None:
    text = (
        "A\n=\n\nCall ``moor`` or :func:`port.tie_rope` or :class:`~port.Berth`.\n\n"
        ".. autofunction:: port.cranes.hoist\n\n.. py:class:: port.Crane(load)\n"
    )
    found = names(text, path)
    assert found["moor"] == found["port.tie_rope"] == found["port.Berth"] == Mark.CODE
    assert found["port.cranes.hoist"] == found["port.Crane"] == Mark.HEADING


def test_a_directive_of_markdown_names_code() -> None:
    assert names("# A\n\n::: port.cranes.hoist\n    options: {}\n")["port.cranes.hoist"] == Mark.HEADING


# --- code blocks -------------------------------------------------------------------------------------

BLOCK = "from port.berths import moor\n\nberth = find_berth(1)\nmoor(berth)\nberth.clear_all()\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/a.md", f"Text.\n\n```python\n{BLOCK}```\n"),
        ("docs/a.md", f"Text.\n\n~~~~ python\n{BLOCK}~~~~\n"),
        ("docs/a.rst", "Text.\n\n.. code-block:: python\n\n    " + BLOCK.replace("\n", "\n    ")),
        ("docs/a.rst", "Text::\n\n    " + BLOCK.replace("\n", "\n    ")),
        ("docs/a.adoc", f"Text.\n\n[source,python]\n----\n{BLOCK}----\n"),
        ("docs/a.org", f"Text.\n\n#+begin_src python\n{BLOCK}#+end_src\n"),
    ],
)
def test_calls_and_imports_of_code_blocks_are_names(path: str, text: str) -> None:
    found = read(text, path)
    lines = text.splitlines()
    assert {each.name for each in found} == {"moor", "find_berth", "clear_all"}
    assert all(each.mark is Mark.IN_BLOCK and each.name in lines[each.line] for each in found)
    assert {each.module for each in found if each.name == "moor"} == {"port.berths"}
    assert {each.owner for each in found if each.name == "clear_all"} == {"berth"}


@pytest.mark.parametrize(
    ("language", "code", "own"),
    [
        ("python", "def helper(v):\n    my_value = v\n    return helper(my_value)\n", "helper"),
        ("go", "func (b *Berth) Helper() {}\nHelper()\n", "Helper"),
        ("go", "helper := 1\nhelper()\n", "helper"),
        ("js", "const { helper, other } = port\nhelper()\n", "helper"),
        ("js", "const Helper = () => 1\nHelper()\n", "Helper"),
        ("java", "MyType helper = make();\nhelper();\n", "helper"),
        ("rust", "struct Helper;\nHelper::new();\n", "Helper"),
        ("elixir", "defmodule Helper do\nend\nHelper.run()\n", "Helper"),
    ],
)
def test_names_that_a_block_defines_are_its_own(language: str, code: str, own: str) -> None:
    assert own not in {each.name for each in read(f"Text.\n\n```{language}\n{code}```\n") if not each.owner}


def test_a_block_may_show_a_definition_with_a_name_of_several_words() -> None:
    assert "PageData" in names("Text.\n\n```ts\ninterface PageData {\n  title: string\n}\n```\n")


def test_a_name_of_a_blocks_own_counts_where_text_marks_it() -> None:
    text = "Write `helper` yourself.\n\n```python\ndef helper(v):\n    pass\n\nhelper(1)\n```\n"
    assert names(text) == {"helper": Mark.CODE}


def test_strings_and_comments_of_blocks_hold_no_names() -> None:
    text = "```python\nlog(\"tie_rope(1)\", 'hoist_it(2)')  # see free_berth()\nmoor(1)\n```\n"
    assert set(names(text)) == {"log", "moor"}


@pytest.mark.parametrize(
    ("language", "code", "expected"),
    [
        ("python", "from port.berths import (\n    moor,\n    Tide as T,\n)\n", {"moor": "port.berths", "Tide": "port.berths"}),  # noqa: E501
        ("ts", "import type {\n  Berth,\n  Crane,\n} from './port'\n", {"Berth": "./port", "Crane": "./port"}),  # noqa: E501
        ("js", "import Port, { moor } from '@harbour/port'\n", {"Port": "@harbour/port", "moor": "@harbour/port"}),  # noqa: E501
        ("js", "export {\n  Berth,\n} from './port'\n", {"Berth": "./port"}),
        ("js", "const { moor } = require('port/berths')\n", {"moor": "port/berths"}),
        ("rust", "use port::berths::{\n    moor,\n    Tide,\n};\n", {"moor": "port.berths", "Tide": "port.berths"}),  # noqa: E501
        ("rust", "use port::berths::Tide;\n", {"Tide": "port.berths"}),
        ("elixir", "alias Port.{Berth, Crane}\n", {"Berth": "Port", "Crane": "Port"}),
        ("java", "import static org.port.Berths.moor;\n", {"moor": "org.port.Berths"}),
        ("python", "import ...\nmoor(1)\n", {}),
        ("python", "from port import (\n", {}),
    ],
)  # fmt: skip
def test_imports_tell_the_modules_of_names(language: str, code: str, expected: Mapping[str, str]) -> None:
    found = modules(f"Text.\n\n```{language}\n{code}```\n")
    assert {name: found.get(name) for name in expected} == expected
    assert set(found) - set(expected) <= {"T"}


def test_an_import_over_several_lines_has_the_first_line() -> None:
    found = read("```python\nfrom port.berths import (\n    moor,\n    Tide,\n)\nclear_all()\n```\n")
    assert {each.name: each.line for each in found} == {"moor": 1, "Tide": 1, "clear_all": 5}


def test_sessions_are_read_without_prompts_and_output() -> None:
    text = "```pycon\n>>> from port import moor\n>>> moor(1)\n... tie_rope(2)\n'moored_ship'\n```\n"
    found = read(text)
    assert {each.name: each.line for each in found} == {"moor": 2, "tie_rope": 3}
    assert {each.language for each in found} == {"python"}
    assert names("```iex\niex(1)> Berth.moor(1)\n```\n").keys() == {"Berth.moor", "Berth"}


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("docs/a.md", "```python\n", "```\n"),
        ("docs/a.rst", ".. code-block:: python\n\n", ""),
        ("docs/a.rst", "Text::\n\n", ""),
    ],
)
def test_a_block_in_several_chunks_is_read_as_code(path: str, before: str, after: str) -> None:
    text = f"A\n=\n\nCall ``moor`` first.\n\n{before}{LONG}{after}\nThen ``let_go`` at the end.\n"
    assert len(read_chunks(text, path)) > 1
    found, lines = read(text, path), text.splitlines()
    marks = {each.name: each.mark for each in found}
    assert marks["moor"] == marks["let_go"] == Mark.CODE
    assert all(marks[f"tie_rope_{n}"] is Mark.IN_BLOCK for n in range(80))
    assert all(each.name in lines[each.line] for each in found)
    assert Mark.WRITTEN not in marks.values()


def test_blocks_of_data_hold_no_names() -> None:
    assert names('Text.\n\n```json\n{"my_key": {"other_key": true}}\n```\n') == {}


# --- files and commands ------------------------------------------------------------------------------


def test_links_and_paths_are_files() -> None:
    text = (
        "See [ropes](../port/ropes.py#L3), ![map](img/map.png), port/cranes.py and `berths.py`.\n"
        "Version 1.2 and e.g. this are none.\n\n[tides]: ../port/tides.py\n"
    )
    assert paths(text) == {
        "../port/ropes.py": 0,
        "img/map.png": 0,
        "port/cranes.py": 0,
        "berths.py": 0,
        "../port/tides.py": 3,
    }


def test_words_of_commands_are_read_without_options() -> None:
    text = (
        "Run `yarn add` and `make`.\n\n"
        "```sh\n# first\n$ mix phx.gen.auth Accounts --live\nmoored at_berth\n$ PORT=1 cat port/a.py\n```\n"
    )
    assert commands(text) == ["yarn", "add", "mix", "phx.gen.auth", "Accounts", "cat"]
    assert paths(text) == {"port/a.py": 6}
    assert names(text) == {"make": Mark.CODE}


def test_a_block_with_prompts_is_one_of_commands() -> None:
    assert commands("Text.\n\n```\n$ harbour open-gates\nopened\n```\n") == ["harbour", "open-gates"]


# --- lines -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_names_have_the_lines_of_the_file(end: str) -> None:
    text = (
        "---\ntitle: Mooring\n---\n\n# A\n\nFirst `moor`,\nthen `tie_rope`.\n\n```python\nclear_all()\n```\n\n"  # noqa: E501
        "See port/a.py.\n"
    )
    found = {each.name: each.line for each in read(text.replace("\n", end))}
    assert found == {"moor": 6, "tie_rope": 7, "clear_all": 10}
    assert paths(text.replace("\n", end)) == {"port/a.py": 13}


# --- tables of contents ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "# Contents\n\n- [Ropes](ropes.md)\n- [Tides](tides.md#moon)\n* [Cranes][cranes]\n",
        "1. [Ropes](ropes.md)\n2. [Tides](tides.md)\n3. [Cranes](cranes.md) (new)\n",
        "Port\n====\n\n.. toctree::\n   :maxdepth: 2\n\n   ropes\n   tides\n   cranes\n",
        "* :doc:`ropes`\n* :ref:`tides`\n* :doc:`cranes`\n",
        "[![build](a.svg)](b)\n[![docs](c.svg)](d)\n![licence](e.svg)\n",
    ],
)
def test_tables_of_contents_and_badges_are_recognized(text: str) -> None:
    assert is_contents(text)


@pytest.mark.parametrize(
    "text",
    [
        "- [Ropes](ropes.md)\n- [Tides](tides.md)\n",
        "- [Ropes](ropes.md) tie a vessel to a berth, and are as long as it is.\n" * 3,
        "See [ropes](ropes.md).\n" * 5,
        "Port\n====\n\nEach vessel has a berth.\n\nIt is moored there.\n\n.. toctree::\n\n   ropes\n",
    ],
)
def test_text_with_links_is_not_a_table_of_contents(text: str) -> None:
    assert not is_contents(text)


# --- hostile text ------------------------------------------------------------------------------------

UNITS = (
    "a.", "`", "``a` ", "`a b` ", "[", "](", "[a](", "![", "[![a](b)", "<code>", "a_", "Aa", "a/", "a-", "-",
    "=", "a: ", "::", "'\\", '"', " ", "\t", "( ", "def (", "const {", "let [", "import ", "import x from ",
    "href=", "$ ", "1.", "x/x.y ", "*", "**a", "<a ", "[],", "use a::{", "require(", "a ", "\\", "a()",
)  # fmt: skip


@pytest.mark.parametrize("before", ["", "`", "# ", "- ", "```\n", "```python\n", "```js\nimport ", "```sh\n"])
def test_long_lines_are_read_soon(before: str) -> None:
    for unit in UNITS:
        text = before + unit * (100_000 // len(unit))
        assert _seconds(text) < 0.2, unit


def test_many_dashes_are_read_soon() -> None:
    text = f"See `{'a-' * 60}!` there.\n"
    assert _seconds(text) < 0.2


def _seconds(text: str) -> float:
    """Return the processor time to read the text. A collection of garbage may disturb one measurement."""
    return min(used_seconds(partial(_read_once, text), 2.0) for _ in range(3))


def _read_once(text: str) -> None:
    (chunk,) = chunk_text("docs/a.md", "Text.\n")
    is_block = text.startswith("```")
    kind, language = (ChunkType.CODE, "python") if is_block else (ChunkType.PROSE, "markdown")
    chunk = evolve(chunk, text=text, type=kind, language=language)
    read_document(StoredChunk(0, "docs/a.md", "docs", "", chunk, ""))
    is_contents(text)
