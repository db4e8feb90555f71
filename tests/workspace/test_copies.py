"""Copies of files are found by comparing lines. Most tests copy files of Cairn's own source."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from cairn.text.sketch import sketch
from cairn.workspace import copies
from cairn.workspace.copies import Sketched, find_copies

PACKAGE = Path(copies.__file__).parents[1]
FOLDERS = ("text", "workspace", "retrieval")
LICENCE = "".join(f"// Line {number} of a licence that stands in every file.\n" for number in range(60))


def source() -> dict[str, str]:
    files = (file for folder in FOLDERS for file in sorted((PACKAGE / folder).glob("*.py")))
    return {file.relative_to(PACKAGE).as_posix(): file.read_text("utf-8") for file in files}


def found(texts: dict[str, str], imported: dict[str, int] | None = None) -> dict[str, tuple[str, float]]:
    files = []
    for path, text in texts.items():
        digest = hashlib.sha256(text.encode()).digest()
        in_degree = (imported or {}).get(path, 0)
        files.append(Sketched(path, len(text.encode()), digest, sketch(text), in_degree))
    return {copy.path: (copy.original, copy.share) for copy in find_copies(files)}


def test_uncopied_source_has_no_copies() -> None:
    assert found(source()) == {}
    assert find_copies([]) == []


@pytest.mark.parametrize(
    ("copy", "original"),
    [
        ("vendor/signals.py", "retrieval/signals.py"),
        ("lib/deno/retrieval/signals.py", "retrieval/signals.py"),
        ("tests/data/signals.py", "retrieval/signals.py"),
        ("docs/signals.py", "retrieval/signals.py"),
    ],
)
def test_equal_file_in_a_side_folder_is_the_copy(copy: str, original: str) -> None:
    texts = source()
    texts[copy] = texts[original]
    assert found(texts) == {copy: (original, 1.0)}


def test_slightly_changed_copy_is_still_a_copy() -> None:
    texts = source()
    lines = texts["retrieval/signals.py"].split("\n")
    added = [f"added_{n} = compute({n})" for n in range(60)]
    texts["third_party/cairn/signals.py"] = "\n".join(lines[5:] + added)
    (copy, (original, share)) = found(texts).popitem()
    assert (copy, original) == ("third_party/cairn/signals.py", "retrieval/signals.py")
    assert 0.75 < share < 1


def test_imported_file_is_the_original() -> None:
    text = source()["retrieval/signals.py"]
    texts = {"a/signals.py": text, "b/deeper/signals.py": text}
    assert found(texts).keys() == {"b/deeper/signals.py"}
    assert found(texts, {"b/deeper/signals.py": 3}).keys() == {"a/signals.py"}


def test_newest_of_several_versions_is_the_original() -> None:
    lines = source()["retrieval/signals.py"].split("\n")
    texts = {f"api/v{number}/signals.py": "\n".join(lines[: 60 * number]) for number in (5, 4)}
    texts |= {f"api/v{number}/signals.py": texts["api/v5/signals.py"] + "\ny = 1" for number in range(6, 31)}
    copied = found(texts)
    assert "api/v30/signals.py" not in copied
    assert {original for original, _ in copied.values()} == {"api/v30/signals.py"}
    assert len(copied) == len(texts) - 1


def test_file_made_of_many_others_is_a_copy() -> None:
    texts = source()
    parts = [text for path, text in texts.items() if path.startswith("workspace/")]
    texts["single_include/all.py"] = "\n".join(parts)
    texts["amalgam.py"] = "\n".join(["import everything", *parts])
    copied = found(texts)
    assert copied.keys() == {"single_include/all.py", "amalgam.py"}
    assert all(share > 0.9 for _, share in copied.values())


def test_shared_licence_does_not_make_copies() -> None:
    own = ["".join(f"int f{number}_{line}(void);\n" for line in range(12)) for number in range(40)]
    assert found({f"src/{number}.c": LICENCE + text for number, text in enumerate(own)}) == {}


def test_small_equal_files_are_not_copies() -> None:
    assert found({"a/__init__.py": "from b import c\n", "d/__init__.py": "from b import c\n"}) == {}
