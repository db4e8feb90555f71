"""All readers know the same definitions of names, and the same symbol tables of files."""

from __future__ import annotations

import pytest
from tests.index.conformance.indexes import Subject

from cairn.index.reader.filters import ChunkFilter

ALL, MOST = ChunkFilter(), 100
HANDLERS = {
    ("src/harbour/crane.py", "handler"),
    ("src/harbour/tide.py", "HANDLER"),
    ("src/harbour/berth.py", "Handler"),
    ("legacy/berth.py", "Handler"),
    ("web/src/client.ts", "handler"),
    ("fleet/main.go", "Handler"),
}


def test_definitions_with_the_same_case_score_higher(subject: Subject) -> None:
    hits = subject.reader.defining(["handler"], MOST, ALL)
    scores = {subject.place(hit.chunk_id)[0]: hit.score for hit in hits}
    assert scores == {path: 1.0 if name == "handler" else 0.9 for path, name in HANDLERS}
    order = [(-hit.score, hit.chunk_id) for hit in hits]
    assert order == sorted(order)


def test_chunks_with_several_of_the_names_come_once(subject: Subject) -> None:
    hits = subject.reader.defining(["crane", "LIFT", "rest", "Crane", "nowhere", ""], MOST, ALL)
    assert {subject.place(hit.chunk_id): hit.score for hit in hits} == {
        ("src/harbour/crane.py", 0): 1.0,
        ("web/src/crane.ts", 0): 1.0,
    }


def test_defining_respects_limit_and_filter(subject: Subject) -> None:
    hits = subject.reader.defining(["handler"], MOST, ALL)
    assert subject.reader.defining(["handler"], 2, ALL) == hits[:2]
    assert subject.reader.defining(["handler"], 0, ALL) == []
    assert subject.reader.defining([], MOST, ALL) == []
    go = subject.reader.defining(["handler"], 1, ChunkFilter(languages=("go",)))
    assert subject.paths(hit.chunk_id for hit in go) == {"fleet/main.go"}
    first = subject.place(hits[0].chunk_id)[0]
    assert subject.reader.defining(["handler"], 2, ChunkFilter(hidden=(first,))) == hits[1:3]


def test_unicode_names_are_defined(subject: Subject) -> None:
    for name in ("größe_des_schiffs", "café_du_port"):
        (hit,) = subject.reader.defining([name], MOST, ALL)
        assert (subject.place(hit.chunk_id)[0], hit.score) == ("src/harbour/accents.py", 1.0)


def members(
    subject: Subject, owner: str, *names: str, only: ChunkFilter = ALL, limit: int = MOST
) -> dict[str, float]:
    hits = subject.reader.members(owner, names, limit, only)
    return {subject.place(hit.chunk_id)[0]: hit.score for hit in hits}


@pytest.mark.parametrize(
    ("owner", "names", "found"),
    [
        ("Crane", ["lift"], {"src/harbour/crane.py": 1.0, "web/src/crane.ts": 1.0}),
        ("crane", ["LIFT"], {"src/harbour/crane.py": 0.9, "web/src/crane.ts": 0.9}),
        ("HarbourClient", ["fetchTide"], {"web/src/client.ts": 1.0}),
        ("tide", ["HANDLER"], {"src/harbour/tide.py": 1.0}),
        ("Ship", ["Sail", "NewShip", "nowhere"], {"fleet/ship/ship.go": 1.0}),
        ("Crane", ["fetchTide"], {}),
        ("Stranger", ["lift"], {}),
        ("Crane", [], {}),
    ],
)
def test_members_belong_to_the_owner(
    subject: Subject, owner: str, names: list[str], found: dict[str, float]
) -> None:
    assert members(subject, owner, *names) == found


def test_members_respect_limit_and_filter(subject: Subject) -> None:
    assert len(members(subject, "Crane", "lift", limit=1)) == 1
    python = ChunkFilter(languages=("python",))
    assert members(subject, "Crane", "lift", only=python) == {"src/harbour/crane.py": 1.0}
    hidden = ChunkFilter(hidden=("src/harbour/crane.py",))
    assert members(subject, "Crane", "lift", only=hidden, limit=1) == {"web/src/crane.ts": 1.0}


def test_definitions_are_found_in_any_case(subject: Subject) -> None:
    found = subject.reader.definitions(["HANDLER", "lift", "nowhere"], MOST, MOST)
    assert {(each.path, each.name) for each in found[:6]} == HANDLERS
    assert {(each.path, each.name) for each in found[6:]} == {
        ("src/harbour/crane.py", "lift"),
        ("web/src/crane.ts", "lift"),
    }
    assert all(subject.place(each.chunk_id)[0] == each.path for each in found)
    chunks = [each.chunk_id for each in found[:6]]
    assert chunks == sorted(chunks)


def test_definitions_respect_both_limits(subject: Subject) -> None:
    every = subject.reader.definitions(["handler", "lift"], MOST, MOST)
    assert subject.reader.definitions(["handler", "lift"], 3, MOST) == every[:3]
    assert subject.reader.definitions(["handler", "lift"], MOST, 1) == [every[0], every[6]]
    assert subject.reader.definitions([], MOST, MOST) == []
    assert subject.reader.definitions(["handler"], 0, MOST) == []


def test_definitions_of_exact_names_are_listed(subject: Subject) -> None:
    found = subject.reader.definitions_of(["handler", "Crane", "nowhere"], MOST)
    assert {(each.path, each.name) for each in found} == {
        ("src/harbour/crane.py", "handler"),
        ("web/src/client.ts", "handler"),
        ("src/harbour/crane.py", "Crane"),
        ("web/src/crane.ts", "Crane"),
    }
    assert len(found) == 4


def test_names_defined_too_often_are_left_out(subject: Subject) -> None:
    assert subject.reader.definitions_of(["handler"], 5) == []
    assert len(subject.reader.definitions_of(["handler"], 6)) == 2
    assert subject.reader.definitions_of([], 6) == []


@pytest.mark.parametrize(
    ("first", "pattern", "names"),
    [
        ("winch", "", ["winch", "winch_max", "winch_pull", "winch_release"]),
        ("WINCH_", "", ["winch_max", "winch_pull", "winch_release"]),
        ("", "%tide%", ["fetchtide", "tide_level", "spring_tide", "next_high_tide"]),
        ("", "%T%D%L%", ["tide_level"]),
        ("h", "h%r%", ["hours", "handler", "harbourclient", "harbouroptions"]),
        ("f", "free%", ["free_berths"]),
        ("nowhere", "", []),
        ("", "nowhere%", []),
        ("café", "", ["café_du_port"]),
        ("", "%caf_\\%", []),
        ("", "%'%", []),
    ],
)
def test_names_match_in_any_case(subject: Subject, first: str, pattern: str, names: list[str]) -> None:
    found = subject.reader.names_matching(first, pattern)
    assert [name.lower() for name in found] == names


def test_the_shortest_names_come_first(subject: Subject) -> None:
    found = subject.reader.names_matching("", "%%")
    assert [len(name) for name in found] == sorted(map(len, found))
    assert len({name.lower() for name in found}) == len(found)
    assert "Berth" in found


def test_symbol_tables_are_found_by_path(subject: Subject) -> None:
    found = subject.reader.symbols_at(["native/winch.c", "README.md", "nowhere", "src/harbour/crane.py"])
    assert [path for _, path in found] == ["native/winch.c", "src/harbour/crane.py"]
    table = subject.reader.symbol_tables([number for number, _ in found])[found[0][0]]
    assert table.language == "c"
    assert [table.name(number) for number in table.defining("winch_pull")] == ["winch_pull"]
    assert subject.reader.symbols_at([]) == []


def test_symbol_tables_are_found_by_name(subject: Subject) -> None:
    def paths(*words: str, limit: int = MOST) -> set[str]:
        found = subject.reader.symbols_with_words(words, limit)
        assert found == [] or all(number for number, _ in found)
        return {path for _, path in found}

    assert paths("=winch_pull") == {"native/winch.c", "native/winch.h"}
    assert paths("winch_pull") == {"native/winch.c"}
    assert paths("=Crane") >= {"src/harbour/crane.py", "web/src/crane.ts"}
    python = {"src/harbour/berth.py", "legacy/berth.py", "src/harbour/crane.py"}
    assert paths("Crane") == {*python, "web/src/client.ts", "web/src/crane.ts"}
    assert paths("=tide_level", "=next_high_tide") == {"src/harbour/tide.py"}
    assert paths("=größe_des_schiffs") == {"src/harbour/accents.py"}
    assert paths("=tide_level", "=winch_pull") == paths("nowhere") == paths() == set()
    assert len(paths("Crane", limit=2)) == 2


def test_unknown_symbol_tables_are_left_out(subject: Subject) -> None:
    assert subject.reader.symbol_tables([10_000_000, 0, -5]) == {}
    assert subject.reader.symbol_tables([]) == {}
