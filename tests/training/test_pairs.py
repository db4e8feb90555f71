"""Tests of the pairs of a small repository: each query leads to the text it was found at, without the words
taken from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pairs import Pair, clean_subject, first_sentence, pairs_of
from repositories import open_repository
from sources import Source

from tests.git_repository import GitRepository

# Each definition is long enough to be a chunk, and short enough to be a single one.
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
_BELOW = """\
A damaged stream may start in the middle of a volume. Its first sector was
counted twice then, as the guess began at zero. See https://example.org/12.

Closes #12
Signed-off-by: Anna <anna@example.org>
"""
_TEST = """\
it("keeps the sectors of a volume that was cut", () => {
  const stream = open("cut");
  expect(free_sectors(stream)).toBe(12);
});
"""
_KEEP_SECTORS = {
    ".py": "def keep_sectors(volume):\n    return volume.sectors\n",
    ".java": "class Volume {\n  int keepSectors() {\n    return 1;\n  }\n}\n",
    ".rb": "def keep_sectors\n  sectors\nend\n",
}
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
    repository = GitRepository(root)
    repository.commit("Initial commit", files)
    subject = "fix(volume): begin with sectors in front of a gap (#12)\n\n"
    repository.commit(subject + _BELOW, {"src/volume.py": _CHANGED})
    return list(pairs_of(open_repository("harbour/volume", root)))


def only(pairs: list[Pair], source: Source, wanted: str = "") -> Pair:
    (pair,) = (pair for pair in pairs if pair.source is source and wanted in pair.query)
    return pair


_TITLE = "keeps the sectors of a volume that was cut"


@pytest.mark.parametrize(
    ("source", "query", "path", "kept", "taken"),
    [
        (
            Source.COMMENT,
            "Guess how many sectors a damaged volume still holds.",
            "src/volume.py",
            "def free_sectors(stream)|last_sector_written",
            "Guess how many|The guess is low",
        ),
        (Source.COMMENT, "Read what is left of the header.", "src/volume.py", "step_17", "does not move"),
        (
            Source.INLINE,
            "Sectors at the very end were never written.",
            "src/volume.py",
            "last_sector_written",
            "never written",
        ),
        (Source.NAME, "next header", "src/volume.py", "Read what is left", "next_header"),
        (Source.NAME, "free sectors", "src/volume.py", "last_sector_written", "free_sectors"),
        (
            Source.COMMIT,
            "begin with sectors in front of a gap",
            "src/volume.py",
            "def free_sectors(stream)|default=stream.first",
            "gap",
        ),
        (Source.TEST, _TITLE, "tests/volume.test.ts", 'open("cut")', _TITLE),
        (Source.TESTED, _TITLE, "src/volume.py", "def free_sectors(stream)", _TITLE),
        (Source.HEADING, "Repairing damaged volumes", "docs/guide.md", "copy it block by block", "Repairing"),
        (
            Source.SENTENCE,
            "Unplug the drive before anything else is tried.",
            "docs/guide.md",
            "copy it block by block",
            "Unplug",
        ),
    ],
)
def test_query_leads_to_its_text_without_the_words_taken_from_it(
    pairs: list[Pair], source: Source, query: str, path: str, kept: str, taken: str
) -> None:
    pair = only(pairs, source, query)
    assert (pair.query, pair.path) == (query, path)
    assert all(words in pair.text + pair.body for words in kept.split("|"))
    assert not any(words in pair.text + pair.body for words in taken.split("|"))


def test_a_path_asks_for_a_skeleton_without_it(pairs: list[Pair]) -> None:
    found = [pair for pair in pairs if pair.source is Source.PATH]
    assert {pair.query for pair in found} == {"src volume"}
    assert all("src" not in pair.text and "_" in pair.text for pair in found)


def test_whole_messages_match_definitions_without_references(pairs: list[Pair]) -> None:
    pair = only(pairs, Source.MESSAGE)
    assert pair.query.startswith("begin with sectors in front of a gap. A damaged stream may start")
    assert pair.query.endswith("as the guess began at zero.")
    assert pair.text == only(pairs, Source.COMMIT).text


def test_documentation_matches_the_definition_that_it_names(pairs: list[Pair]) -> None:
    pair = only(pairs, Source.MENTION, "The number of usable blocks can be asked for")
    assert "free_sectors" not in pair.query
    assert (pair.path, "def free_sectors(stream)" in pair.text) == ("src/volume.py", True)


def test_a_repository_read_again_gives_the_same_pairs(tmp_path: Path) -> None:
    GitRepository(tmp_path).commit("Initial commit", {"src/volume.py": _VOLUME, "docs/guide.md": _GUIDE})
    repository = open_repository("harbour/volume", tmp_path)
    first = list(pairs_of(repository))
    assert first
    assert list(pairs_of(repository)) == first


def test_pairs_of_one_definition_or_section_share_a_place(pairs: list[Pair]) -> None:
    wanted = {pair.query: pair.place for pair in pairs}
    assert wanted["Guess how many sectors a damaged volume still holds."] == wanted["free sectors"]
    assert wanted["Read what is left of the header."] != wanted["free sectors"]
    assert wanted["Repairing damaged volumes"] == wanted["Unplug the drive before anything else is tried."]


def test_subjects_match_the_most_similar_definition_of_a_new_file(
    tmp_path: Path,
) -> None:
    repository = GitRepository(tmp_path, {"README.md": "# Volumes\n"})
    repository.commit("Tell how many sectors are free", {"src/volume.py": _VOLUME})
    found = [pair for pair in pairs_of(open_repository("o/n", tmp_path)) if pair.source is Source.COMMIT]
    assert [(pair.query, "def free_sectors" in pair.text) for pair in found] == [
        ("Tell how many sectors are free", True)
    ]


@pytest.mark.parametrize(
    ("test", "tested"),
    [
        ("tests/test_volume.py", "src/volume.py"),
        ("tests/VolumeTest.java", "src/Volume.java"),
        ("tests/volume_spec.rb", "lib/volume.rb"),
        ("tests/commit.py", "src/commit.py"),
        ("tests/latest.py", "src/latest.py"),
    ],
)
def test_tests_match_the_file_of_their_name(tmp_path: Path, test: str, tested: str) -> None:
    title = "keeps the sectors of a cut volume"
    texts = {test: f'it("{title}", () => 1);\n', tested: _KEEP_SECTORS[Path(tested).suffix]}
    GitRepository(tmp_path, texts)
    found = [pair for pair in pairs_of(open_repository("o/n", tmp_path)) if pair.source is Source.TESTED]
    assert [(pair.query, pair.path) for pair in found] == [(title, tested)]


def test_test_names_match_the_code_below(tmp_path: Path) -> None:
    text = "def test_sectors_of_a_cut_volume_stay():\n    assert open_volume('cut').sectors == 12\n"
    GitRepository(tmp_path, {"tests/test_volume.py": text})
    pair = only(list(pairs_of(open_repository("o/n", tmp_path))), Source.TEST)
    assert pair.query == "sectors of a cut volume stay"
    assert "open_volume('cut')" in pair.text
    assert "volume_stay" not in pair.text


def test_documentation_matches_by_sentence_for_long_definitions_too(
    tmp_path: Path,
) -> None:
    lines = "".join(
        f"    stream.step_{number}(stream.position + {number}, whole=True)\n" for number in range(400)
    )
    guide = (
        "# Volumes\n\nA volume is copied block by block to another drive. What is left of a damaged one can "
        "be asked for with `free_sectors` at any time.\n"
    )
    volume = f"def free_sectors(stream):\n{lines}"
    GitRepository(tmp_path, {"src/volume.py": volume, "docs/guide.md": guide})
    pair = only(list(pairs_of(open_repository("o/n", tmp_path))), Source.MENTION)
    assert "What is left of a damaged one" in pair.query
    assert "block by block" not in pair.query
    assert "def free_sectors(stream)" in pair.text


@pytest.mark.parametrize("changed", [1, 6, 7])
def test_commits_of_many_files_give_no_pairs(tmp_path: Path, changed: int) -> None:
    names = [f"src/volume_{number}.py" for number in range(changed)]
    repository = GitRepository(tmp_path, dict.fromkeys(names, _VOLUME))
    repository.commit("Begin with sectors in front of a gap", dict.fromkeys(names, _CHANGED))
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
        ("Release 2.1", ""),
        ("Release the lock when a reader dies", "Release the lock when a reader dies"),
        ("Initial commit of the reader", ""),
        ("Initialize the reader before its header", "Initialize the reader before its header"),
        ("Merge sorted runs of sectors", "Merge sorted runs of sectors"),
        ("Format code with the new rules", ""),
        ("Format durations as minutes and seconds", "Format durations as minutes and seconds"),
    ],
)
def test_subjects_are_cleaned_or_dropped(subject: str, query: str) -> None:
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
def test_first_sentences_are_kept_or_dropped(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence
