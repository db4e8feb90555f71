"""Places that are named after the shown lines: what these use and are called by, and what ranks next."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from tests.retrieval.passages.folder_with_passages import FolderOf, FolderWithPassages

from cairn.discovery.further_places import PlaceNamer
from cairn.discovery.layout import places_text
from cairn.embedding.shared import estimate_tokens
from cairn.protocol.discovery_messages import NamedPlace
from cairn.retrieval.elsewhere import Elsewhere, Lines, NamedLines

QUESTION = "how is a ship moored at a berth that is long enough"
MOORING = '''from port.depth import MARGIN, deep_enough


def moor_ship(harbour, ship):
    """Moor the ship at the first berth that is long enough."""
    for berth in harbour.berths_by_length():
        if berth.length >= ship.length + MARGIN and deep_enough(berth):
            return harbour.assign(berth, ship)
    raise ValueError(f"no berth for {ship.name}")
'''
DEPTH = '''MARGIN = 12


def deep_enough(berth):
    """Sound the bottom. The lead line is lowered twice."""
    return berth.soundings() > 2


def dredge(berth, metres: float):
    return berth.bottom - metres
'''
ARRIVAL = """from port.mooring import moor_ship


def receive(harbour, ship):
    harbour.greet(ship)
    return moor_ship(harbour, ship)
"""
LIGHT = "".join(f"def lamp_{n}():\n    return {n}\n\n\n" for n in range(3))
PORT = {
    "port/mooring.py": MOORING,
    "port/depth.py": DEPTH,
    "port/arrival.py": ARRIVAL,
    "port/light.py": LIGHT,
    "docs/guide.md": "# Guide\n\nAll about ships.\n\n## Mooring\n\nA ship is moored at a long berth.\n",
}
SHOWN = [Lines(0, "port/mooring.py", 3, 9)]


@pytest.fixture
def port(folder_of: FolderOf) -> FolderWithPassages:
    return folder_of(PORT)


def elsewhere(
    folder: FolderWithPassages, shown: Sequence[Lines] = SHOWN, question: str = QUESTION
) -> dict[str, NamedLines]:
    passages = folder.passages(question)
    found = Elsewhere([folder.reader], folder.outlines(passages)).places(passages, shown)
    assert len({each.lines for each in found}) == len(found)
    return {each.title: each for each in found}


def named(
    folder: FolderWithPassages, budget: int = 1_000, shown: Sequence[Lines] = SHOWN
) -> list[NamedPlace]:
    namer = PlaceNamer([folder.uri], [folder.reader], folder.lines_now, estimate_tokens)
    return namer.name(list(elsewhere(folder, shown).values()), budget)


def test_what_the_shown_lines_use_and_are_called_by_is_named(port: FolderWithPassages) -> None:
    found = elsewhere(port)
    assert found["deep_enough"].relation == "called by moor_ship"
    assert found["MARGIN"].relation == "used by moor_ship"
    assert found["receive"].relation == "calls moor_ship"
    assert "" in {each.relation for each in found.values()}, "places that only rank next"
    assert found["deep_enough"].lines == Lines(0, "port/depth.py", 3, 6)


def test_what_is_shown_is_not_named(port: FolderWithPassages) -> None:
    assert "moor_ship" not in elsewhere(port)
    assert "deep_enough" not in elsewhere(port, [*SHOWN, Lines(0, "port/depth.py", 3, 6)])


def test_the_rest_of_a_partly_shown_definition_is_named(folder_of: FolderOf) -> None:
    body = "".join(f"    berth_{n} = moor(ship, {n})\n" for n in range(30))
    folder = folder_of({**PORT, "port/long.py": f"def moor_long_ship(ship):\n{body}"})
    shown = [*SHOWN, Lines(0, "port/long.py", 0, 12)]
    found = elsewhere(folder, shown)
    assert found["moor_long_ship"].lines == Lines(0, "port/long.py", 12, 31)
    namer = PlaceNamer([folder.uri], [folder.reader], folder.lines_now, estimate_tokens)
    places = namer.name(list(found.values()), 1_000)
    assert "long.py:13-31 moor_long_ship" in places_text(places)
    assert [each.about for each in places if each.title == "moor_long_ship"] == [", the rest"]
    assert "moor_long_ship" not in elsewhere(folder, [*SHOWN, Lines(0, "port/long.py", 0, 28)]), "3 lines"


def test_short_definition_is_named_only_if_the_shown_lines_refer_to_it(folder_of: FolderOf) -> None:
    flag = "def moored_ship_at_berth():\n    return True\n"
    folder = folder_of({**PORT, "port/flags.py": flag})
    found = elsewhere(folder)
    assert "MARGIN" in found
    assert "moored_ship_at_berth" not in found


def test_comment_that_begins_with_the_name_does_not_repeat_it(folder_of: FolderOf) -> None:
    body = "(ship Ship) Berth {\n\tberth := Berth{}\n\tberth.Take(ship)\n\treturn berth\n}\n"
    comment = "moors ships at a berth that is long enough.\n"
    folder = folder_of(
        {
            "port/moor.go": f"package port\n\n// It {comment}func MoorShip{body}",
            "port/other.go": f"package port\n\n// Moor {comment}func Moor{body}",
        }
    )
    about = {each.title: each.about for each in named(folder, shown=())}
    assert about["MoorShip"].startswith(": It moors ships at a berth")
    assert about["Moor"].startswith(" moors ships at a berth")


def test_members_of_a_long_type_are_named_instead_of_it(folder_of: FolderOf) -> None:
    members = "".join(
        f"    def moor_ship_{n}(self, ship):\n        berth = self.berth_{n}\n\n\n        return ship\n\n"
        for n in range(40)
    )
    found = elsewhere(folder_of({**PORT, "port/fleet.py": f"class Fleet:\n{members}"}))
    assert "Fleet" not in found
    assert any(title.startswith("Fleet.moor_ship_") for title in found)


def test_a_place_has_its_comment_or_else_its_signature(port: FolderWithPassages) -> None:
    about = {each.title: each.about for each in named(port)}
    assert about["deep_enough"] == ": Sound the bottom. The lead line is…"
    assert about["MARGIN"] == " = 12"
    assert about["receive"] == "(harbour, ship)"


def test_texts_name_places_by_short_paths_and_each_owner_once(folder_of: FolderOf) -> None:
    methods = "".join(
        f"    def moor_ship_{n}(self, ship):\n        berth = self.berth_{n}\n\n        return ship\n\n"
        for n in range(40)
    )
    folder = folder_of(
        {**PORT, "port/fleet.py": f"class Fleet:\n{methods}", "quay/arrival.py": "SHIPS_MOORED = 1\n"}
    )
    texts = places_text(named(folder))
    assert "depth.py\n  1 MARGIN\n  4-6 deep_enough" in texts
    assert "port/arrival.py:4-6 receive" in texts, "another file is called so"
    (fleet,) = (text for text in texts if text.startswith("fleet.py"))
    assert re.match(r"fleet\.py\n  \d+-\d+ Fleet\.moor_ship_\d+\n  \d+-\d+ \.moor_ship_\d+", fleet)


def test_places_of_a_file_stand_together_in_order(port: FolderWithPassages) -> None:
    places = [(each.path, each.range.start.line) for each in named(port)]
    paths = [path for path, _ in places]
    assert len(dict.fromkeys(paths)) == 1 + sum(a != b for a, b in pairwise(paths))
    assert [line for path, line in places if path == "port/depth.py"] == [0, 3]


@pytest.mark.parametrize("budget", [0, 5, 20, 40, 60])
def test_places_fit_their_budget(port: FolderWithPassages, budget: int) -> None:
    places = named(port, budget)
    assert estimate_tokens("\n".join(places_text(places))) <= budget
    assert bool(places) is (budget >= 20)


def test_places_are_cited_where_they_are_now(port: FolderWithPassages) -> None:
    found = elsewhere(port)
    namer = PlaceNamer([port.uri], [port.reader], port.lines_now, estimate_tokens)
    file = port.root / "port/depth.py"
    file.write_text("# Depths.\n" * 3 + DEPTH.replace("MARGIN =", "margin ="))
    places = {each.title: each for each in namer.name(list(found.values()), 1_000)}
    assert places["deep_enough"].range.start.line == 6
    assert "MARGIN" not in places, "it is gone"
    file.unlink()
    assert "deep_enough" not in {each.title for each in namer.name(list(found.values()), 1_000)}
