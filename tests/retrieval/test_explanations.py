"""Documents explain the definitions that they name as code."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder

from cairn.index.references.graph import ReferenceGraph
from cairn.retrieval.explanations import Explanation, explaining

SOURCE = {
    "harbour/berths.py": "def moor_ship(vessel):\n    return vessel\n\n\ndef run(vessel):\n    return vessel\n",  # noqa: E501
    "harbour/cranes.py": "class Crane:\n    def clear(self):\n        return 1\n",
    "harbour/tugs.py": "class Tug:\n    def clear(self):\n        return 1\n",
}


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of(SOURCE)


def explained(
    folder: IndexedFolder, documents: Mapping[str, str], symbol: str = "moor_ship", most: int = 4
) -> list[Explanation]:
    folder.save(documents)
    graph = ReferenceGraph(folder.reader)
    (place, *_) = graph.named(symbol)
    return explaining(folder.reader, place, most, graph)


def paths(found: list[Explanation]) -> list[str]:
    return [each.stored.path for each in found]


DOCUMENTS = {
    "docs/heading.md": "# `moor_ship`\n\nA vessel is moored.\n",
    "docs/marked.md": "# Mooring\n\nCall `moor_ship` once.\n",
    "docs/block.md": "# Steps\n\n```python\nmoor_ship(vessel)\n```\n",
    "docs/words.md": "# Words\n\nTo moor a ship takes ropes.\n",
}


def test_a_heading_comes_before_code_before_blocks(folder: IndexedFolder) -> None:
    found = explained(folder, DOCUMENTS)
    assert paths(found) == ["docs/heading.md", "docs/marked.md", "docs/block.md"]
    strengths = [each.strength for each in found]
    assert strengths == sorted(set(strengths), reverse=True)
    assert all(0 < each <= 1 for each in strengths)
    assert paths(explained(folder, DOCUMENTS, most=2)) == ["docs/heading.md", "docs/marked.md"]


@pytest.mark.parametrize(
    ("text", "line", "sentence"),
    [
        ("# A\n\nA ship has ropes. Call **`moor_ship`** to [tie](a.md) it. Then wait.\n", 2, "Call `moor_ship` to tie it."),  # noqa: E501
        ("# A\n\nA ship has ropes,\nand `moor_ship` ties it\nto a berth.\n", 3, "A ship has ropes, and `moor_ship` ties it to a berth."),  # noqa: E501
        ("# A\r\n\r\nIt has ropes.\r\n\r\nCall `moor_ship` now.\r\n", 4, "Call `moor_ship` now."),
        ("---\ntitle: A\n---\n\n# A\n\n- `moor_ship` ties it.\n", 6, "`moor_ship` ties it."),
        ("# Mooring\n\n```python\nx = moor_ship(1)\n```\n", 3, "Mooring"),
        ("# How to `moor_ship`\n\nText.\n", 0, "How to moor_ship"),
    ],
)  # fmt: skip
def test_the_sentence_that_names_it_is_shown(
    folder: IndexedFolder, text: str, line: int, sentence: str
) -> None:
    (found,) = explained(folder, {"docs/a.md": text})
    assert (found.line, " ".join(found.sentence.split())) == (line, sentence)


def test_a_long_sentence_is_cut_around_the_name(folder: IndexedFolder) -> None:
    words = "and so on " * 60
    (found,) = explained(folder, {"docs/a.md": f"# A\n\nFirst {words}then `moor_ship` is {words}over.\n"})
    assert "moor_ship" in found.sentence
    assert found.sentence[0] == found.sentence[-1] == "…"
    assert len(found.sentence) < 250


def test_each_document_explains_by_one_passage(folder: IndexedFolder) -> None:
    sections = "".join(
        f"## Part {n}\n\n{'A vessel lies there. ' * 60}Call `moor_ship`.\n\n" for n in range(4)
    )
    text = f"# A\n\n{sections}## `moor_ship`\n\n{'A vessel lies there. ' * 60}\n"
    (found,) = explained(folder, {"docs/a.md": text})
    assert found.line == text.splitlines().index("## `moor_ship`")


@pytest.mark.parametrize(
    "path",
    [
        "CHANGELOG.md",
        "docs/release-notes.md",
        "docs/whatsnew/3.0.md",
        "docs/legacy/guide.md",
        "versioned_docs/version-2.x/guide.md",
    ],
)
def test_release_notes_and_former_versions_explain_nothing(folder: IndexedFolder, path: str) -> None:
    assert paths(explained(folder, {path: "# A\n\nCall `moor_ship` once.\n"})) == []


def test_the_latest_version_of_the_documents_explains(folder: IndexedFolder) -> None:
    documents = {f"docs/v{n}/guide.md": f"# A\n\nCall `moor_ship` {n} times.\n" for n in (1, 2)}
    assert paths(explained(folder, documents)) == ["docs/v2/guide.md"]


def test_the_original_explains_instead_of_its_translation(folder: IndexedFolder) -> None:
    documents = {f"docs/{code}/guide.md": f"# {code}\n\n`moor_ship` {code}.\n" for code in ("de", "en", "fr")}
    assert paths(explained(folder, documents)) == ["docs/en/guide.md"]


def test_documents_of_its_version_explain_a_former_version(folder: IndexedFolder) -> None:
    folder.save({"v1/old.py": "def tie_rope(vessel):\n    return vessel\n"})
    found = explained(folder, {"v1/guide.md": "# A\n\nCall `tie_rope` once.\n"}, "tie_rope")
    assert paths(found) == ["v1/guide.md"]


def test_source_and_tests_explain_nothing(folder: IndexedFolder) -> None:
    documents = {
        "harbour/more.py": "# Call `moor_ship` once.\nA = 1\n",
        "tests/notes.md": "# A\n\nCall `moor_ship` once.\n",
    }
    assert explained(folder, documents) == []


@pytest.mark.parametrize(
    "text",
    ["To run it, press run.\n", "Call `npm run build`.\n", "A `runner` runs.\n", "Use `sailing.run()`.\n"],
)
def test_a_word_explains_nothing(folder: IndexedFolder, text: str) -> None:
    assert explained(folder, {"docs/a.md": f"# A\n\n{text}"}, "run") == []


def test_the_owner_decides_which_method_is_explained(folder: IndexedFolder) -> None:
    documents = {
        "docs/crane.md": "# A\n\nCall `Crane.clear()`.\n",
        "docs/tug.md": "# B\n\nCall `Tug.clear()`.\n",
    }
    assert paths(explained(folder, documents, "Crane.clear")) == ["docs/crane.md"]
    assert paths(explained(folder, documents, "Tug.clear")) == ["docs/tug.md"]


def test_unsaved_documents_explain(folder: IndexedFolder) -> None:
    folder.save({"docs/a.md": "# A\n\nText.\n"})
    folder.type("docs/a.md", "# A\n\nText.\n\nCall `moor_ship` once.\n")
    (found,) = explained(folder, {})
    assert (found.line, found.sentence) == (4, "Call `moor_ship` once.")


def test_without_documents_nothing_is_explained(folder: IndexedFolder) -> None:
    assert explained(folder, {}) == []
