"""Names in documents lead to the definitions that they mean, and to none where that is unclear."""

from __future__ import annotations

import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder

from cairn.index.references.graph import ReferenceGraph
from cairn.retrieval.document_names import read_document
from cairn.retrieval.shown_code import NamedPlace, named_places

GUIDE = "docs/guide.md"
FILES = {
    "harbour/berths.py": "class Berth:\n    def clear(self):\n        return 1\n\n\ndef moor(vessel):\n    return vessel\n",  # noqa: E501
    "harbour/cranes.py": "class Crane:\n    def clear(self):\n        return 2\n\n\ndef hoist_load(load):\n    return load\n",  # noqa: E501
    "pilots/boats.py": "def moor(boat):\n    return boat\n\n\ndef run(boat):\n    return boat\n",
    "tests/test_berths.py": "def hoist_all():\n    return 1\n\n\ndef moor(x):\n    return x\n",
}  # fmt: skip


@pytest.fixture
def folder(folder_of: FolderOf) -> IndexedFolder:
    return folder_of(FILES)


def places(folder: IndexedFolder, text: str, path: str = GUIDE, focus: range = range(0)) -> list[NamedPlace]:
    """Return what a document with the text names, the surest first."""
    folder.save({path: text})
    texts = [read_document(stored) for stored in folder.reader.page(path)]
    return named_places(folder.reader, ReferenceGraph(folder.reader), path, texts, focus)


def named(folder: IndexedFolder, text: str, path: str = GUIDE) -> set[str]:
    """Return the named definitions as `file:name`, and the named files."""
    return {
        f"{each.path}:{each.place.qualified}" if each.place else each.path
        for each in places(folder, text, path)
    }


def block(code: str, language: str = "python") -> str:
    return f"Text.\n\n```{language}\n{code}\n```\n"


# --- namesakes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (block("from harbour.berths import moor\nmoor(1)"), "harbour/berths.py:moor"),
        (block("from pilots.boats import moor\nmoor(1)"), "pilots/boats.py:moor"),
        (block("from pilots import boats\nboats.moor(1)"), "pilots/boats.py:moor"),
        ("Call `pilots.boats.moor(1)`.\n", "pilots/boats.py:moor"),
        ("Call `berths.moor`.\n", "harbour/berths.py:moor"),
        ("Call `Berth.clear` first.\n", "harbour/berths.py:Berth.clear"),
        ("Call `Crane.clear()` first.\n", "harbour/cranes.py:Crane.clear"),
        ("Call :meth:`harbour.cranes.Crane.clear`.\n", "harbour/cranes.py:Crane.clear"),
    ],
)
def test_what_precedes_a_name_tells_namesakes_apart(folder: IndexedFolder, text: str, meant: str) -> None:
    found = named(folder, text)
    assert meant in found
    assert not {each for each in found - {meant} if each.endswith((":moor", ".clear"))}


@pytest.mark.parametrize(
    "text",
    [
        "Call `moor(1)` there.\n",  # two files define it
        "Call `clear()` there.\n",
        block("from sailing import moor\nmoor(1)"),
        block("from sailing import hoist_load\nhoist_load(1)"),
        "Call `Tug.clear()` there.\n",
        "Call `sailing.moor(1)` there.\n",
        block("hoist_load(1);", "rust"),
        "Call `hoist_all()` there.\n",  # a test defines it
    ],
)
def test_an_unclear_name_means_nothing(folder: IndexedFolder, text: str) -> None:
    assert named(folder, text) == set()


def test_an_owner_tells_many_namesakes_apart(folder: IndexedFolder) -> None:
    text = "class Boat{n}:\n    def clear(self):\n        return {n}\n"
    folder.save({f"boats/boat{n}.py": text.format(n=n) for n in range(20)})
    assert "harbour/cranes.py:Crane.clear" in named(folder, "Call `Crane.clear()` first.\n")
    assert named(folder, "Call `clear_all()` and `clear()`.\n") == set()


def test_an_owner_may_be_a_variable(folder: IndexedFolder) -> None:
    assert named(folder, block("crane.hoist_load(1)")) == {"harbour/cranes.py:hoist_load"}


def test_the_name_of_the_project_precedes_names(folder_of: FolderOf) -> None:
    folder = folder_of(
        {
            "pyproject.toml": '[project]\nname = "harbour"\n',
            "src/tides.py": "def now():\n    return 1\n\n\nclass Tide:\n    pass\n",
        }
    )
    assert named(folder, "Call `harbour.now()`.\n") == {"src/tides.py:now"}
    assert named(folder, block("from harbour import Tide\nTide()")) == {"src/tides.py:Tide"}
    assert named(folder, "Call `pilots.now()`.\n") == set()


def test_a_type_is_not_its_namesake_method(folder: IndexedFolder) -> None:
    folder.save(
        {
            "harbour/tides.py": "class TideTable:\n    pass\n",
            "harbour/rules.py": "class Rules:\n    def TideTable(self):\n        return 1\n",
        }
    )
    assert named(folder, "A `TideTable` is there.\n") == {"harbour/tides.py:TideTable"}


def test_a_definition_for_two_platforms_means_both(folder: IndexedFolder) -> None:
    for system in ("unix", "windows"):
        folder.save({f"harbour/{system}.py": f"def open_lock(gate):\n    return '{system}'\n"})
    assert named(folder, "Call `open_lock()`.\n") == {
        "harbour/unix.py:open_lock",
        "harbour/windows.py:open_lock",
    }
    folder.save({"harbour/other.py": "def open_lock(gate):\n    return 3\n"})
    assert named(folder, "Call `open_lock()`.\n") == set()


def test_the_current_version_is_meant(folder: IndexedFolder) -> None:
    folder.save(
        {"v1/gates.py": "def open_gate():\n    return 1\n", "gates.py": "def open_gate():\n    return 2\n"}
    )
    assert named(folder, "Call `open_gate()`.\n") == {"gates.py:open_gate"}
    assert "v1/gates.py:open_gate" in named(folder, "Call `open_gate()`.\n", "v1/guide.md")


def test_unsaved_text_is_read(folder: IndexedFolder) -> None:
    folder.save({GUIDE: "Text.\n"})
    folder.type(GUIDE, "Text.\n\nCall `hoist_load`.\n")
    folder.type("harbour/cranes.py", "\n\n\n" + FILES["harbour/cranes.py"])
    texts = [read_document(stored) for stored in folder.reader.page(GUIDE)]
    (found,) = named_places(folder.reader, ReferenceGraph(folder.reader), GUIDE, texts, range(0))
    assert (found.path, found.line) == ("harbour/cranes.py", 8)


# --- common words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Install it with `yarn add vessels` and run the file.\n",
        "To run a boat, clear the berth, then moor.\n",
        "## Run\n\nThe boats.\n",
        "The `file` and the `query` of `run`.\n",
        "```sh\n$ yarn add run\n$ run moor\n```\n",
        "| run | clear |\n| --- | --- |\n| moor | berth |\n",
    ],
)
def test_common_words_bring_nothing(folder: IndexedFolder, text: str) -> None:
    folder.save({"harbour/files.py": "def file(a):\n    return a\n\n\ndef add(a):\n    return a\n\n\ndef query(a):\n    return a\n"})  # fmt: skip  # noqa: E501
    assert named(folder, text) == set()


# --- files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "See [the cranes](../harbour/cranes.py#L3).\n",
        "See harbour/cranes.py for this.\n",
        "See `cranes.py` for this.\n",
        "```sh\n$ cat harbour/cranes.py\n```\n",
        "```js\nimport '../harbour/cranes.py'\n```\n",
    ],
)
def test_paths_and_links_lead_to_files(folder: IndexedFolder, text: str) -> None:
    assert named(folder, text) == {"harbour/cranes.py"}


def test_a_folder_with_a_dot_is_part_of_a_path(folder: IndexedFolder) -> None:
    folder.save({".harbour/pilots.cfg": "a = 1\n"})
    assert named(folder, "See `.harbour/pilots.cfg`.\n") == {".harbour/pilots.cfg"}
    assert named(folder, "See [it](./../harbour/berths.py).\n") == {"harbour/berths.py"}


def test_a_path_of_several_files_leads_to_none(folder: IndexedFolder) -> None:
    folder.save({"a/setup.py": "import a\n", "b/setup.py": "import b\n", "ropes/readme.txt": "Ropes.\n"})
    assert named(folder, "See `setup.py` and ropes/readme.txt.\n") == set()
    assert named(folder, "See `b/setup.py`.\n") == {"b/setup.py"}
    assert named(folder, "See `setup.py`.\n", "a/guide.md") == {"a/setup.py"}


def test_tasks_lead_to_the_files_that_are_named_like_them(folder: IndexedFolder) -> None:
    folder.save(
        {
            "lib/mix/tasks/phx.gen.auth.ex": "defmodule Mix.Tasks.Phx.Gen.Auth do\nend\n",
            "scripts/open-gates.sh": "echo open\n",
        }
    )
    assert named(folder, "```sh\n$ mix phx.gen.auth Accounts\n```\n") == {"lib/mix/tasks/phx.gen.auth.ex"}
    assert named(folder, "Run `open-gates` there.\n") == {"scripts/open-gates.sh"}


def test_stems_of_files_lead_to_them(folder: IndexedFolder) -> None:
    folder.save({"styles/quayside.css": ".a { color: red; }\n", "styles/colors.css": ".b { color: red; }\n"})
    assert named(folder, "The `quayside` and the `colors` there.\n") == {"styles/quayside.css"}


# --- keys and strength -------------------------------------------------------------------------------


OPTIONS = "def read(given):\n    log(given)\n    return given['max_draught']\n"


def test_rare_keys_lead_to_the_lines_that_read_them(folder: IndexedFolder) -> None:
    for end in ("\n", "\r\n", "\r"):
        folder.save({"harbour/options.py": OPTIONS.replace("\n", end)})
        (found,) = places(folder, "Set `max_draught` to 8.\n")
        assert (found.path, found.place, found.line) == ("harbour/options.py", None, 2)
    assert found.reason == "contains `max_draught`"
    folder.save(
        {f"harbour/more{n}.py": f"def more_{n}(given):\n    return given['max_draught']\n" for n in range(2)}
    )
    assert places(folder, "Set `max_draught` to 8.\n") == []


def test_headings_and_marks_are_surer_than_code_blocks(folder: IndexedFolder) -> None:
    texts = ("# `hoist_load`\n", "Call `hoist_load`.\n", "Call hoist_load.\n", block("hoist_load(1)"))
    strengths = [places(folder, text)[0].strength for text in texts]
    assert strengths == sorted(set(strengths), reverse=True)


def test_a_name_of_many_passages_says_less(folder: IndexedFolder) -> None:
    before = places(folder, "Call `hoist_load`.\n")[0].strength
    folder.save({f"docs/more{n}.md": f"# More {n}\n\nCall `hoist_load` {n} times.\n" for n in range(20)})
    assert places(folder, "Call `hoist_load`.\n")[0].strength < before / 2


def test_names_beyond_the_most_are_not_looked_up(folder: IndexedFolder) -> None:
    table = "".join(f"| `made_up_{n}` |\n" for n in range(200))
    assert named(folder, f"Call `hoist_load`.\n\n{table}") == {"harbour/cranes.py:hoist_load"}
    assert named(folder, f"{table}\nCall `hoist_load`.\n") <= {"harbour/cranes.py:hoist_load"}
