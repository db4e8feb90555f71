"""Pairs of a small repository: what is asked leads to what it was found at, less the words taken from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pairs import Pair, clean_subject, first_sentence, pairs_of
from repositories import open_repository
from sources import Source

from tests.training.git_repository import commit

# Long enough that each definition is a chunk, and short enough that it is one alone.
_BODY = "".join(f"    stream.step_{number}(stream.position + {number}, whole=True)\n" for number in range(18))
_VOLUME = f'''\
def next_header(stream):
    """Read what is left of the header. The stream does not move on."""
{_BODY}

def free_sectors(stream):
    """Guess how many sectors a damaged volume still holds.

    The guess is low.
    """
    # Sectors at the very end were never written.
    last = stream.last_sector_written(default=0)
{_BODY}    return last
'''
_CHANGED = _VOLUME.replace("last_sector_written(default=0)", "last_sector_written(default=stream.first)")
_TEST = """\
it("keeps the sectors of a volume that was cut", () => {
  const stream = open("cut");
  expect(free_sectors(stream)).toBe(12);
});
"""
_GUIDE = """\
# Repairing damaged volumes

Unplug the drive before anything else is tried. Then copy it block by block to another drive, and work on \
the copy alone, however long that takes.

The number of usable blocks can be asked for with `free_sectors` at any time.
"""


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Pair]:
    root = tmp_path_factory.mktemp("clone")
    files = {"src/volume.py": _VOLUME, "tests/volume.test.ts": _TEST, "docs/guide.md": _GUIDE}
    commit(root, "Found the harbour of volumes", files)
    commit(root, "fix(volume): begin with sectors in front of a gap (#12)", {"src/volume.py": _CHANGED})
    return list(pairs_of(open_repository("harbour/volume", root)))


def only(pairs: list[Pair], source: Source, asked: str = "") -> Pair:
    (pair,) = (pair for pair in pairs if pair.source is source and asked in pair.query)
    return pair


def test_a_doc_comment_asks_for_its_definition_which_does_not_hold_it(pairs: list[Pair]) -> None:
    pair = only(pairs, Source.COMMENT, "damaged")
    assert pair.query == "Guess how many sectors a damaged volume still holds."
    assert pair.path == "src/volume.py"
    assert "def free_sectors(stream)" in pair.text
    assert "last_sector_written" in pair.body
    for taken in ("Guess how many", "The guess is low"):
        assert taken not in pair.text
        assert taken not in pair.body


def test_only_the_first_sentence_of_a_doc_comment_asks(pairs: list[Pair]) -> None:
    assert only(pairs, Source.COMMENT, "header").query == "Read what is left of the header."


def test_a_comment_inside_asks_for_the_lines_below_it(pairs: list[Pair]) -> None:
    pair = only(pairs, Source.INLINE)
    assert pair.query == "Sectors at the very end were never written."
    assert "last_sector_written" in pair.text
    assert "never written" not in pair.text


def test_a_name_asks_for_its_skeleton_without_the_signature(pairs: list[Pair]) -> None:
    pair = only(pairs, Source.NAME, "next header")
    assert "Read what is left" in pair.text
    assert "def next_header(stream)" not in pair.text


def test_a_path_asks_for_a_skeleton_without_it(pairs: list[Pair]) -> None:
    found = [pair for pair in pairs if pair.source is Source.PATH]
    assert {pair.query for pair in found} == {"src volume"}
    assert all("src" not in pair.text and "_" in pair.text for pair in found)


def test_a_subject_asks_for_the_definition_that_its_commit_changed(pairs: list[Pair]) -> None:
    pair = only(pairs, Source.COMMIT)
    assert pair.query == "begin with sectors in front of a gap"
    assert "def free_sectors(stream)" in pair.text
    assert "default=stream.first" in pair.body


def test_a_title_asks_for_its_test_and_for_what_the_file_of_that_name_defines(pairs: list[Pair]) -> None:
    title = "keeps the sectors of a volume that was cut"
    test, tested = only(pairs, Source.TEST), only(pairs, Source.TESTED)
    assert test.query == tested.query == title
    assert test.path == "tests/volume.test.ts"
    assert 'open("cut")' in test.text
    assert title not in test.text
    assert tested.path == "src/volume.py"
    assert "def free_sectors(stream)" in tested.text


def test_a_heading_asks_for_its_section_without_it(pairs: list[Pair]) -> None:
    pair = only(pairs, Source.HEADING)
    assert pair.query == "Repairing damaged volumes"
    assert "copy it block by block" in pair.text
    assert "Repairing" not in pair.text


def test_the_first_sentence_of_a_section_asks_for_the_rest(pairs: list[Pair]) -> None:
    pair = only(pairs, Source.SENTENCE)
    assert pair.query == "Unplug the drive before anything else is tried."
    assert "copy it block by block" in pair.text
    assert "Unplug" not in pair.text


def test_documentation_asks_without_the_name_for_the_definition_that_it_names(pairs: list[Pair]) -> None:
    pair = only(pairs, Source.MENTION)
    assert "The number of usable blocks can be asked for" in pair.query
    assert "free_sectors" not in pair.query
    assert pair.path == "src/volume.py"
    assert "def free_sectors(stream)" in pair.text


def test_a_repository_read_again_gives_the_same_pairs(tmp_path: Path) -> None:
    commit(tmp_path, "Found the harbour of volumes", {"src/volume.py": _VOLUME, "docs/guide.md": _GUIDE})
    repository = open_repository("harbour/volume", tmp_path)
    first = list(pairs_of(repository))
    assert first
    assert list(pairs_of(repository)) == first


@pytest.mark.parametrize("changed", [1, 6, 7])
def test_a_commit_of_many_files_is_about_none_of_them(tmp_path: Path, changed: int) -> None:
    names = [f"src/volume_{number}.py" for number in range(changed)]
    commit(tmp_path, "Found the harbour of volumes", dict.fromkeys(names, _VOLUME))
    commit(tmp_path, "Begin with sectors in front of a gap", dict.fromkeys(names, _CHANGED))
    found = [pair for pair in pairs_of(open_repository("o/n", tmp_path)) if pair.source is Source.COMMIT]
    assert sorted(pair.path for pair in found) == (names if changed <= 6 else [])


@pytest.mark.parametrize(
    ("subject", "query"),
    [
        ("fix(parser): keep trailing commas in arrays (#123)", "keep trailing commas in arrays"),
        ("[volume] Keep the trailing sectors.", "Keep the trailing sectors"),
        ("src/volume.c: keep the trailing sectors", "keep the trailing sectors"),
        ("Merge branch 'main' into quay", ""),
        ("chore: bump serde from 1.0.1 to 1.0.2", ""),
        ("Fix typos in the reader's messages", ""),
        ("v1.2.3", ""),
        ("Fix bug", ""),
    ],
)
def test_a_subject_is_cleaned_or_says_nothing(subject: str, query: str) -> None:
    assert clean_subject(subject) == query


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Read what is left of\n    the header. Then move on.", "Read what is left of the header."),
        ("Read what is left of the header\n\n@param stream where from", "Read what is left of the header"),
        ("Read version 1.2 headers too. Then move on.", "Read version 1.2 headers too."),
        ("Too short.", ""),
        ("", ""),
        ("Copyright 2019 the harbour authors and others", ""),
        ("TODO: read what is left of the header", ""),
        ("--- 0x00 == 0x01, 0x02 == 0x03 -> {} [] || && ++ ---", ""),
    ],
)
def test_a_first_sentence_says_something_or_is_none(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence
