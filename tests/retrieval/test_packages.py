"""Which package of a workspace a question is about: its manifest says what it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from tests.retrieval.indexed_folder import IndexedFolder

from cairn.retrieval.packages import Packages, packages_asked_about
from cairn.retrieval.query import understand

OTHERS = {f"packages/p{number}/package.json": json.dumps({"name": f"p{number}"}) for number in range(5)}
HOISTS = {
    "npm": ("jibs/package.json", '{"name": "@port/jibs", "description": "A crane for \\"boxes\\""}'),
    "cargo": ("jibs/Cargo.toml", '[package]\nname = "jibs"\ndescription = """\nA crane for boxes\n"""\n'),
    "python": ("jibs/pyproject.toml", "[project]\nname = 'jibs'\ndescription = 'A crane for boxes'\n"),
    "setup": ("jibs/setup.cfg", "[metadata]\nname = jibs\ndescription = A crane for boxes\n"),
    "maven": (
        "jibs/pom.xml",
        "<project><artifactId>jibs</artifactId><description>A crane</description></project>",
    ),
}
SEA = {"sea/package.json": '{"name": "sea", "description": "Where water goes"}'}


@pytest.fixture
def indexed(tmp_path: Path) -> Iterator[Callable[[Mapping[str, str]], IndexedFolder]]:
    made: list[IndexedFolder] = []

    def index(files: Mapping[str, str]) -> IndexedFolder:
        made.append(IndexedFolder(tmp_path, files))
        return made[-1]

    yield index
    for folder in made:
        folder.close()


def asked_about(folder: IndexedFolder, question: str = "which machine can lift them") -> Packages:
    (packages,) = packages_asked_about([folder.reader], understand(question), folder.models.table)
    return packages


@pytest.mark.parametrize("manifest", HOISTS)
def test_a_description_tells_what_a_package_is_about(
    indexed: Callable[[Mapping[str, str]], IndexedFolder], manifest: str
) -> None:
    packages = asked_about(indexed({**OTHERS, **SEA, **dict([HOISTS[manifest]])}))
    assert packages.around("jibs/src/deep/arm.py") > 0.3
    assert packages.around("sea/wave.py") == packages.around("README.md") == 0
    assert packages.by_project["jibs"] == packages.by_folder["jibs"]


def test_a_few_packages_tell_nothing(indexed: Callable[[Mapping[str, str]], IndexedFolder]) -> None:
    few = dict(list(OTHERS.items())[:4])
    assert asked_about(indexed({**few, **SEA, **dict([HOISTS["npm"]])})) == Packages()


def test_a_package_of_tests_is_none(indexed: Callable[[Mapping[str, str]], IndexedFolder]) -> None:
    path, text = HOISTS["npm"]
    packages = asked_about(indexed({**OTHERS, **SEA, "tide/package.json": "{}", f"tests/{path}": text}))
    assert packages.around("tests/jibs/arm.js") == 0


def test_a_description_counts_once_it_is_saved(
    indexed: Callable[[Mapping[str, str]], IndexedFolder],
) -> None:
    folder = indexed({**OTHERS, **SEA, "jibs/package.json": '{"name": "jibs"}'})
    path, text = HOISTS["npm"]
    folder.type(path, text)
    assert asked_about(folder).around("jibs/arm.js") == 0
    folder.save({path: text})
    assert asked_about(folder).around("jibs/arm.js") > 0.3
