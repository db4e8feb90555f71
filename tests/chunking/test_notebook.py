"""Notebooks are cut into chunks of cells, cited by lines of the JSON file."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cairn.chunking.chunker import chunk_text
from cairn.chunking.composite import composite_text
from cairn.chunking.model import Chunk
from cairn.chunking.notebook import items, members, read_json
from cairn.protocol.search_messages import ChunkType

_PATH = "docs/tides.ipynb"
_IMAGE = "iVBORw0KGgoAAAANSUhEUg" * 40


def _cell(kind: str, source: str | list[str], **more: Any) -> dict[str, Any]:
    # nbformat writes the outputs before the source.
    outputs = {"outputs": [{"data": {"image/png": _IMAGE}}]} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, **outputs, "source": source, **more}


def _by_lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def _notebook(*cells: dict[str, Any], language: str = "python", indent: int | None = 1) -> str:
    notebook = {"cells": cells, "metadata": {"language_info": {"name": language}}, "nbformat": 4}
    return json.dumps(notebook, indent=indent, ensure_ascii=False) + "\n"


_TIDES = _notebook(
    _cell("markdown", _by_lines('# Tides\n\nHow the "water" rises and falls, in a few words.')),
    _cell(
        "code",
        _by_lines('%matplotlib inline\nimport math\n\ndef level(hour):\n    """Metres."""\n    return 1'),
    ),
    _cell("markdown", _by_lines("## Ports\n\nEach port has a table of its own, as follows.\n")),
    _cell("code", _by_lines("%%bash\nls -l ports\n")),
    _cell("code", _by_lines("level(3)")),
)


def _file_lines(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text)


def test_each_cell_is_described_like_a_file_of_its_kind() -> None:
    found = [
        (chunk.header_path, chunk.type, chunk.language, chunk.symbol) for chunk in chunk_text(_PATH, _TIDES)
    ]
    assert found == [
        ("Tides", ChunkType.PROSE, "markdown", ""),
        ("Tides > level", ChunkType.CODE, "python", "level"),
        ("Tides > Ports", ChunkType.PROSE, "markdown", ""),
        ("Tides > Ports", ChunkType.CMD, "bash", ""),
        ("Tides > Ports", ChunkType.CODE, "python", ""),
    ]
    level = chunk_text(_PATH, _TIDES)[1]
    assert (level.signature, level.comment) == ("def level(hour)", "Metres.")
    assert level.text.startswith("%matplotlib inline\n")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("indent", [1, 4])
def test_every_line_of_a_chunk_is_on_its_cited_line(end: str, indent: int) -> None:
    text = json.dumps(json.loads(_TIDES), indent=indent).replace("\n", end)
    chunks = chunk_text(_PATH, text)
    _check_lines(text, chunks)
    assert [chunk.text for chunk in chunks] == [chunk.text for chunk in chunk_text(_PATH, _TIDES)]


def _check_lines(text: str, chunks: list[Chunk]) -> None:
    lines = _file_lines(text)
    assert chunks
    for before, chunk in zip([None, *chunks], chunks, strict=False):
        assert before is None or before.end_line <= chunk.start_line
        source = chunk.text.removesuffix("\n").split("\n")
        assert len(source) == chunk.end_line - chunk.start_line
        for index, line in enumerate(source):
            assert line in json.loads(lines[chunk.start_line + index].strip().rstrip(","))


@pytest.mark.parametrize("indent", [None, 1])
def test_source_in_one_string_is_cited_whole(indent: int | None) -> None:
    code = "def a():\n    return 1\n" * 100
    text = _notebook(_cell("code", code), _cell("code", "b = 1"), indent=indent)
    chunks = chunk_text(_PATH, text)
    assert len(chunks) > 2
    assert "".join(chunk.text for chunk in chunks) == code + "b = 1\n"
    for chunk in chunks:
        cited = "\n".join(_file_lines(text)[chunk.start_line : chunk.end_line])
        assert json.dumps(chunk.text.strip())[1:-1] in cited


def test_outputs_and_embedded_images_are_left_out() -> None:
    text = _notebook(
        _cell("code", ["plot()"]),
        _cell("markdown", ["A picture of the tide: ![tide](data:image/png;base64," + _IMAGE + ")"]),
    )
    assert _IMAGE[:100] in text
    assert [chunk.text for chunk in chunk_text(_PATH, text)] == [
        "plot()\n",
        "A picture of the tide: ![tide](data:image/png;base64,…)\n",
    ]


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({"language_info": {"name": "R", "file_extension": ".r"}}, "r"),
        ({"language_info": {"name": "C++17", "file_extension": ".cpp"}}, "cpp"),
        ({"kernelspec": {"language": "julia"}}, "julia"),
        ({"kernelspec": {"name": "python3"}}, "python"),
        ({}, "python"),
        ([], "python"),
    ],
)
def test_code_is_in_the_language_of_the_kernel(metadata: object, language: str) -> None:
    text = json.dumps({"cells": [_cell("code", ["x = 1"])], "metadata": metadata, "nbformat": 4})
    assert [chunk.language for chunk in chunk_text(_PATH, text)] == [language]


def test_cell_may_be_in_another_language() -> None:
    cell = _cell("code", ["let x = 1"])
    cell["metadata"] = {"vscode": {"languageId": "javascript"}}
    assert chunk_text(_PATH, _notebook(cell))[0].language == "javascript"


def test_older_notebooks_have_worksheets() -> None:
    heading = {"cell_type": "heading", "level": 2, "source": ["Ports"]}
    source = ["def moor():\n", "    pass"]
    code = {"cell_type": "code", "language": "python", "input": source, "outputs": []}
    text = json.dumps({"worksheets": [{"cells": [heading, code]}], "nbformat": 3}, indent=1)
    chunks = chunk_text(_PATH, text)
    found = [(chunk.header_path, chunk.symbol) for chunk in chunks]
    assert found == [("Ports", ""), ("Ports > moor", "moor")]
    _check_lines(text, chunks)


@pytest.mark.parametrize(
    "text",
    [
        '{"cells": []}',
        '{"nbformat": 4}',
        '{"cells": {"a": 1}, "worksheets": 3}',
        '{"cells": [1, null, [], {"source": [1]}, {"source": null}, {"source": " "}, {"source": []}]}',
    ],
)
def test_notebook_without_cells_has_no_chunks(text: str) -> None:
    assert chunk_text(_PATH, text) == []


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"a": 1}', '{"cells": []} x', '<<<<<<< HEAD\n{"cells": []}\n', "[" * 100_000, '{"cells": ['],
)
def test_invalid_notebook_is_cut_like_other_text(text: str) -> None:
    chunks = chunk_text(_PATH, text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert {chunk.language for chunk in chunks} == {"json"}


def test_prose_is_embedded_as_prose_and_code_as_a_skeleton() -> None:
    prose, code, *_ = chunk_text(_PATH, _TIDES)
    assert composite_text(_PATH, "port-docs", prose).startswith("Title: Tides\nSource: port-docs\n")
    assert composite_text(_PATH, "port-docs", code) == "docs / tides\nlevel\nMetres.\ndef level(hour)"


_LINES = st.lists(
    st.sampled_from(["# a", "x = 1", "", "def f():", "    pass", '"q" \\ é\u2028', "%%time", "```", "---"])
)
_CELLS = st.lists(
    st.builds(_cell, st.sampled_from(["code", "markdown", "raw"]), _LINES.map("\n".join).map(_by_lines)),
    max_size=6,
)


@settings(max_examples=200)
@given(_CELLS, st.sampled_from([1, 2, None]))
def test_chunks_cover_all_sources_in_order(cells: list[dict[str, Any]], indent: int | None) -> None:
    chunks = chunk_text(_PATH, _notebook(*cells, indent=indent))
    sources = ("".join(cell["source"]) for cell in cells)
    expected = [source.removesuffix("\n") + "\n" for source in sources if source.strip()]
    assert "".join(chunk.text for chunk in chunks) == "".join(expected)
    lines = [chunk.start_line for chunk in chunks]
    assert lines == sorted(lines)


def test_lone_surrogates_are_replaced() -> None:
    notebook = json.dumps(json.loads(_notebook(_cell("markdown", "# High \ud83d water\n\n\ud83c\udf0a\n"))))
    (chunk,) = chunk_text(_PATH, notebook)
    assert (chunk.title, chunk.text) == ("High \ufffd water", "# High \ufffd water\n\n🌊\n")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=3), inside, max_size=4),
    max_leaves=20,
)


@given(_JSON, st.sampled_from([None, 0, 3]))
def test_json_values_have_their_offsets(content: object, indent: int | None) -> None:
    text = " " + json.dumps(content, indent=indent) + "\n"
    value = read_json(text)
    assert value.content == content
    for key, member in members(text, value).items():
        assert isinstance(content, dict)
        assert json.loads(text[member.start : member.end]) == member.content == content[key]
    found = [json.loads(text[item.start : item.end]) for item in items(text, value)]
    assert found == (content if isinstance(content, list) else [])


@settings(max_examples=300)
@given(st.text(alphabet='{}[]",: \\n\n1acelsourct', max_size=60), st.integers(0, 2000), st.integers(0, 30))
def test_damaged_notebooks_are_chunked(junk: str, at: int, less: int) -> None:
    text = _TIDES[:at] + junk + _TIDES[at + less :]
    for chunk in chunk_text(_PATH, text):
        assert 0 <= chunk.start_line < chunk.end_line <= text.count("\n") + 1
