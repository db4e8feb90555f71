"""Passages of real indexes: the lines that answer lead."""

from __future__ import annotations

from itertools import pairwise

import pytest
from tests.retrieval.passages.asked_folder import AskedFolder
from tests.retrieval.passages.conftest import FolderOf

from cairn.retrieval.passages.ranking import Passage

MOORING = '''"""Moors ships at the berths of a port."""

from harbour.settings import SAFETY_MARGIN


class HarbourFullError(Exception):
    """No berth is free."""


def moor_ship(harbour, ship):
    """Moor the ship at the first berth that is long enough."""
    for berth in harbour.berths_by_length():
        if berth.length >= ship.length + SAFETY_MARGIN:
            return harbour.assign(berth, ship)
    raise HarbourFullError(f"no free berth for ship {ship.name} in harbour {harbour.name}")
'''
ARRIVAL = '''"""What is done when a ship arrives."""

from harbour.mooring import moor_ship


def receive(harbour, ship, pilot):
    """Bring the ship in, and have it moored."""
    pilot.board(ship)
    tide = harbour.tide_now()
    if tide.is_low:
        pilot.wait_for(tide)
    berth = moor_ship(harbour, ship)
    harbour.log.write(ship, berth)
    return berth
'''
SETTINGS = '''"""Settings of a harbour."""

SAFETY_MARGIN = 2.5
MOORING_TIMEOUT_SECONDS = 90
NAME = "Porto"


def mooring_timeout(settings):
    """How long mooring may take, as the settings of a harbour say."""
    return settings.get("mooring", {}).get("timeout")
'''
TESTS = '''"""Tests of mooring."""

from harbour.mooring import moor_ship


def test_a_ship_that_is_too_long_is_refused(harbour, long_ship):
    """No berth is long enough."""
    with raises(HarbourFullError):
        moor_ship(harbour, long_ship)
'''
GUIDE = """# Mooring

A ship is moored at the first berth that is long enough for it. A ship that is too long for every berth is refused.

# Tides

At low water a pilot waits before the ship comes in.
"""
PORT = {
    "harbour/mooring.py": MOORING,
    "harbour/arrival.py": ARRIVAL,
    "harbour/settings.py": SETTINGS,
    "tests/test_mooring.py": TESTS,
    "docs/guide.md": GUIDE,
}


def first_of(folder: AskedFolder, question: str) -> tuple[Passage, str]:
    passage = folder.passages(question)[0]
    return passage, folder.shown(passage)


MESSAGES = {
    "port/percent.py": 'def refuse(ship):\n    raise PortError("gangway of ship %s is blocked by %d crates" % (ship, crates))\n',
    "port/fstring.py": 'def weigh(ship):\n    raise PortError(f"anchor of {ship.name} cannot be weighed at depth {depth}")\n',
    "port/format.rs": 'fn tow(tug: &Tug) {\n    panic!("tug {} lost the towing line of vessel {:?}", tug.id, tug.vessel);\n}\n',
    "port/template.ts": "export function load(c: Crate) {\n  throw new Error(`crane ${c.crane} dropped crate ${c.id} into the water`);\n}\n",
    "port/Joined.java": 'class Joined {\n  void pay(Fee f) {\n    throw new IllegalStateException("fee of " + f.sum + " was paid twice by owner " + f.owner);\n  }\n}\n',
    "port/errorf.go": 'package port\n\nfunc Pilot(s Ship) error {\n\treturn fmt.Errorf("pilot %q refused to board ship %v during storm", s.Pilot, s)\n}\n',
    "port/interpolated.rb": 'def dredge(basin)\n  raise "basin #{basin.name} is too shallow to be dredged by #{vessel}"\nend\n',
}


@pytest.mark.parametrize(
    ("question", "path", "line"),
    [
        ("PortError: gangway of ship Anna is blocked by 12 crates", "port/percent.py", "gangway of ship %s"),
        ('Where does the error "anchor of Anna cannot be weighed at depth 40" come from?', "port/fstring.py", "anchor of {"),
        ("thread 'main' panicked: tug 7 lost the towing line of vessel \"Anna\"", "port/format.rs", "tug {} lost"),
        ("Error: crane 3 dropped crate A-113 into the water", "port/template.ts", "crane ${c.crane} dropped"),
        ("IllegalStateException: fee of 300 was paid twice by owner Berta", "port/Joined.java", "was paid twice"),
        ('Why do I get "pilot "Otto" refused to board ship Anna during storm" as an error?', "port/errorf.go", "refused to board"),
        ("RuntimeError: basin North is too shallow to be dredged by Anna", "port/interpolated.rb", "is too shallow"),
    ],
)  # fmt: skip
def test_the_literal_of_a_message_with_values_leads(
    folder_of: FolderOf, question: str, path: str, line: str
) -> None:
    passage, shown = first_of(folder_of({**MESSAGES, **PORT}), question)
    assert passage.stored.path == path
    assert line in shown


def test_the_value_of_a_default_leads(folder_of: FolderOf) -> None:
    passage, shown = first_of(folder_of(PORT), "What is the default timeout of mooring in seconds?")
    assert passage.stored.path == "harbour/settings.py"
    assert "MOORING_TIMEOUT_SECONDS = 90" in shown


def test_a_test_leads_where_tests_are_asked_for_and_only_there(folder_of: FolderOf) -> None:
    folder = folder_of(PORT)
    asked = "which test checks that a ship that is too long is refused"
    passage, shown = first_of(folder, asked)
    assert passage.stored.path == "tests/test_mooring.py"
    assert "def test_a_ship_that_is_too_long_is_refused" in shown
    otherwise, _ = first_of(folder, "how is a ship moored at a berth that is long enough")
    assert otherwise.stored.path != "tests/test_mooring.py"


def test_the_calling_line_is_what_uses_a_name_and_its_definition_is_not(folder_of: FolderOf) -> None:
    folder = folder_of(PORT)
    passages = folder.passages("What calls moor_ship?")
    using = [folder.shown(each) for each in passages if each.reason == "uses moor_ship"]
    assert len(using) == 2, "one in the code and one in the tests"
    assert all("moor_ship(harbour, " in shown and "def moor_ship" not in shown for shown in using)
    assert "berth = moor_ship(harbour, ship)" in "".join(map(folder.shown, passages[:2]))
    of_arrival = [each for each in passages if each.stored.path == "harbour/arrival.py"]
    assert "berth = moor_ship(harbour, ship)" in folder.shown(of_arrival[0])


def test_the_definition_leads_where_it_is_asked_for(folder_of: FolderOf) -> None:
    passage, shown = first_of(folder_of(PORT), "How does moor_ship find a berth?")
    assert (passage.stored.path, passage.reason) == ("harbour/mooring.py", "defines moor_ship")
    assert "def moor_ship" in shown


def test_a_reason_names_what_the_passage_defines_and_no_other_name(folder_of: FolderOf) -> None:
    passages = folder_of(PORT).passages("How do moor_ship and MOORING_TIMEOUT_SECONDS work together?")
    reasons = {each.reason for each in passages if each.stored.path == "harbour/mooring.py"}
    assert "defines moor_ship" in reasons
    assert not any("MOORING_TIMEOUT_SECONDS" in reason for reason in reasons if reason.startswith("defines"))


def test_passages_fall_in_score_and_say_why_they_stand_there(folder_of: FolderOf) -> None:
    passages = folder_of(PORT).passages("how is a ship moored at a berth")
    scores = [passage.score for passage in passages]
    assert scores == sorted(scores, reverse=True)
    assert passages[0].reason


def test_a_reason_names_the_words_that_a_passage_holds_rather_than_its_meaning(folder_of: FolderOf) -> None:
    folder = folder_of(PORT)
    passages = folder.passages("how is a ship moored at a berth")
    held = [passage.reason for passage in passages if "berth" in folder.shown(passage)]
    assert held
    assert "close in meaning" not in held


def test_a_reason_names_a_name_as_it_is_written(folder_of: FolderOf) -> None:
    passages = folder_of(PORT).passages("how is moor_ship told the SAFETY_MARGIN of a berth")
    assert "has SAFETY_MARGIN" in {passage.reason for passage in passages}


def test_passages_are_the_lines_of_their_files(folder_of: FolderOf) -> None:
    folder = folder_of(PORT)
    for passage in folder.passages("how is a ship moored at a berth"):
        lines = (folder.root / passage.stored.path).read_text(encoding="utf-8").split("\n")
        assert folder.shown(passage) == "\n".join(lines[passage.first : passage.last])


def test_no_two_passages_overlap(folder_of: FolderOf) -> None:
    every = folder_of(PORT).passages("how is a ship moored at a berth")
    spans = sorted((each.stored.path, each.first, each.last) for each in every)
    assert all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(spans))


def test_without_vectors_passages_are_ranked_by_words(folder_of: FolderOf) -> None:
    folder = folder_of(PORT)
    passages = folder.passages("where is a ship assigned to a berth that is long enough", with_vectors=False)
    assert passages[0].stored.path == "harbour/mooring.py"
    assert "close in meaning" not in {passage.reason for passage in passages}


@pytest.mark.parametrize("question", ["", "   ", "?", "…", "zxqvbn"])
def test_a_question_without_a_known_word_is_answered(folder_of: FolderOf, question: str) -> None:
    folder = folder_of(PORT)
    for with_vectors in (True, False):
        for passage in folder.passages(question, with_vectors=with_vectors):
            assert passage.first < passage.last


def test_chunks_of_best_passages_may_be_several_of_a_file(folder_of: FolderOf) -> None:
    filler = "".join(f"    boxes.append(crate_{n})\n" for n in range(60))
    crane = (
        'def lower_the_crane(crane, load):\n    "'
        'Lower the load of a crane to the quay."'
        "\n    boxes = []\n" + filler + "    return boxes\n\n\n"
    )
    raise_ = (
        'def raise_the_crane(crane, load):\n    "'
        'Raise the load of a crane from the quay."'
        "\n    boxes = []\n" + filler + "    return boxes\n"
    )
    folder = folder_of({"port/cranes.py": crane + raise_, "docs/tides.md": "# Tides\n\nWater falls.\n"})
    found = folder.best_chunks("how is the load of a crane lowered and raised from the quay")
    assert [each.stored.path for each in found[:2]] == ["port/cranes.py", "port/cranes.py"]
    assert len({each.stored.id for each in found}) == len(found)


_BROKEN = """\
Ships are refused at night
Since the new lamps came, every ship that calls after dusk is refused, whatever its length, although berths
are free and the harbour master has signed. It used to work with the old lamps. Nobody touched the berths.

Traceback (most recent call last):
  File "/srv/app/run.py", line 9, in <module>
    main()
  File "/srv/app/{path}", line 40, in {name}
    return None
ValueError: refused
"""


def test_the_function_that_a_trace_went_through_leads(folder_of: FolderOf) -> None:
    folder = folder_of(PORT)
    passage, shown = first_of(folder, _BROKEN.format(path="harbour/mooring.py", name="moor_ship"))
    assert (passage.stored.path, passage.reason) == ("harbour/mooring.py", "in the stack trace")
    assert "def moor_ship" in shown
