"""A manifest's description tells which package a query is about, and the query's words tell which folder."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.retrieval.indexed_folder import FolderOf, IndexedFolder

from cairn.index.reader.postings import Postings
from cairn.retrieval.candidates import Pool, QueryWord
from cairn.retrieval.packages import Packages, folder_likelihoods, package_relevance
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


def packages_of(folder: IndexedFolder, question: str = "which machine can lift them") -> Packages:
    (packages,) = package_relevance([folder.reader], understand(question), folder.models.table)
    return packages


@pytest.mark.parametrize("manifest", HOISTS)
def test_a_description_makes_its_package_relevant(folder_of: FolderOf, manifest: str) -> None:
    packages = packages_of(folder_of({**OTHERS, **SEA, **dict([HOISTS[manifest]])}))
    assert packages.around("jibs/src/deep/arm.py") > 0.3
    assert packages.around("sea/wave.py") == packages.around("README.md") == 0
    assert packages.by_project["jibs"] == packages.by_folder["jibs"]


def test_too_few_packages_are_not_compared(folder_of: FolderOf) -> None:
    few = dict(list(OTHERS.items())[:4])
    assert packages_of(folder_of({**few, **SEA, **dict([HOISTS["npm"]])})) == Packages()


def test_a_package_of_tests_is_ignored(folder_of: FolderOf) -> None:
    path, text = HOISTS["npm"]
    packages = packages_of(folder_of({**OTHERS, **SEA, "tide/package.json": "{}", f"tests/{path}": text}))
    assert packages.around("tests/jibs/arm.js") == 0


def test_a_description_counts_once_it_is_saved(
    folder_of: FolderOf,
) -> None:
    folder = folder_of({**OTHERS, **SEA, "jibs/package.json": '{"name": "jibs"}'})
    path, text = HOISTS["npm"]
    folder.type(path, text)
    assert packages_of(folder).around("jibs/arm.js") == 0
    folder.save({path: text})
    assert packages_of(folder).around("jibs/arm.js") > 0.3


def pool(**words: int) -> Pool:
    """Return the pool of a folder with this number of chunks for each word."""
    made = Pool()
    for word, chunks in words.items():
        ids = np.arange(1, chunks + 1, dtype=np.int32)
        ones = np.ones(chunks, np.uint8)
        made.words.append(QueryWord(frozenset({word}), 1.0, Postings(ids, ones, ones)))
    return made


def test_a_word_of_a_single_folder_makes_it_likelier() -> None:
    likelihoods = folder_likelihoods(
        [pool(middleware=50, rack=0), pool(middleware=40, rack=30)], [1000, 1000]
    )
    assert likelihoods[1] == 0.0
    assert likelihoods[0] < -0.3


def test_a_large_folder_is_not_likelier() -> None:
    likelihoods = folder_likelihoods([pool(cookie=100), pool(cookie=10)], [10_000, 1_000])
    assert likelihoods == pytest.approx([0.0, 0.0], abs=0.1)


def test_unknown_words_make_no_folder_likelier() -> None:
    assert folder_likelihoods([pool(zebra=0), pool(zebra=0)], [10, 1_000]) == [0.0, 0.0]
