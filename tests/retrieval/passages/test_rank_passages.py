"""The lines that answer a question lead its passages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from tests.retrieval.passages.folder_with_passages import FolderOf, FolderWithPassages

from cairn.retrieval.windows import Passage

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
"""  # noqa: E501
PORT = {
    "harbour/mooring.py": MOORING,
    "harbour/arrival.py": ARRIVAL,
    "harbour/settings.py": SETTINGS,
    "tests/test_mooring.py": TESTS,
    "docs/guide.md": GUIDE,
}


def first_of(folder: FolderWithPassages, question: str) -> tuple[Passage, str]:
    passage = folder.passages(question)[0]
    return passage, folder.shown(passage)


MESSAGES = {
    "port/percent.py": 'def refuse(ship):\n    raise PortError("gangway of ship %s is blocked by %d crates" % (ship, crates))\n',  # noqa: E501
    "port/fstring.py": 'def weigh(ship):\n    raise PortError(f"anchor of {ship.name} cannot be weighed at depth {depth}")\n',  # noqa: E501
    "port/format.rs": 'fn tow(tug: &Tug) {\n    panic!("tug {} lost the towing line of vessel {:?}", tug.id, tug.vessel);\n}\n',  # noqa: E501
    "port/template.ts": "export function load(c: Crate) {\n  throw new Error(`crane ${c.crane} dropped crate ${c.id} into the water`);\n}\n",  # noqa: E501
    "port/Joined.java": 'class Joined {\n  void pay(Fee f) {\n    throw new IllegalStateException("fee of " + f.sum + " was paid twice by owner " + f.owner);\n  }\n}\n',  # noqa: E501
    "port/errorf.go": 'package port\n\nfunc Pilot(s Ship) error {\n\treturn fmt.Errorf("pilot %q refused to board ship %v during storm", s.Pilot, s)\n}\n',  # noqa: E501
    "port/interpolated.rb": 'def dredge(basin)\n  raise "basin #{basin.name} is too shallow to be dredged by #{vessel}"\nend\n',  # noqa: E501
}


@pytest.mark.parametrize(
    ("question", "path", "line"),
    [
        ("PortError: gangway of ship Anna is blocked by 12 crates", "port/percent.py", "gangway of ship %s"),
        ('Where does the error "anchor of Anna cannot be weighed at depth 40" come from?', "port/fstring.py", "anchor of {"),  # noqa: E501
        ("thread 'main' panicked: tug 7 lost the towing line of vessel \"Anna\"", "port/format.rs", "tug {} lost"),  # noqa: E501
        ("Error: crane 3 dropped crate A-113 into the water", "port/template.ts", "crane ${c.crane} dropped"),
        ("IllegalStateException: fee of 300 was paid twice by owner Berta", "port/Joined.java", "was paid twice"),  # noqa: E501
        ('Why do I get "pilot "Otto" refused to board ship Anna during storm" as an error?', "port/errorf.go", "refused to board"),  # noqa: E501
        ("RuntimeError: basin North is too shallow to be dredged by Anna", "port/interpolated.rb", "is too shallow"),  # noqa: E501
    ],
)  # fmt: skip
def test_the_literal_of_a_message_leads(folder_of: FolderOf, question: str, path: str, line: str) -> None:
    passage, shown = first_of(folder_of({**MESSAGES, **PORT}), question)
    assert passage.stored.path == path
    assert line in shown


_BROKEN = """\
Ships are refused at night
Since the new lamps came, every ship that calls after dusk is refused, whatever its length, although berths
are free and the harbour master has signed. It used to work with the old lamps. The berths are unchanged.

Traceback (most recent call last):
  File "/srv/app/run.py", line 9, in <module>
    main()
  File "/srv/app/harbour/mooring.py", line 40, in moor_ship
    return None
ValueError: refused
"""


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FolderWithPassages]:
    folder = FolderWithPassages(tmp_path_factory.mktemp("port"), PORT)
    yield folder
    folder.close()


@pytest.mark.parametrize(
    ("question", "path", "reason", "line"),
    [
        ("What is the default timeout of mooring in seconds?", "harbour/settings.py", "", "MOORING_TIMEOUT_SECONDS = 90"),  # noqa: E501
        ("which test checks that a ship that is too long is refused", "tests/test_mooring.py", "", "def test_a_ship_that"),  # noqa: E501
        ("How does moor_ship find a berth?", "harbour/mooring.py", "defines moor_ship", "def moor_ship"),
        (_BROKEN, "harbour/mooring.py", "in the stack trace", "def moor_ship"),
    ],
    ids=["default", "test", "definition", "stack trace"],
)  # fmt: skip
def test_the_answer_to_a_kind_of_question_leads(
    port: FolderWithPassages, question: str, path: str, reason: str, line: str
) -> None:
    passage, shown = first_of(port, question)
    assert passage.stored.path == path
    assert line in shown
    assert passage.reason == reason or not reason


def test_tests_do_not_lead_for_other_questions(port: FolderWithPassages) -> None:
    passage, _ = first_of(port, "how is a ship moored at a berth that is long enough")
    assert passage.stored.path != "tests/test_mooring.py"


def test_a_call_uses_a_name_but_its_definition_does_not(port: FolderWithPassages) -> None:
    passages = port.passages("What calls moor_ship?")
    using = [port.shown(each) for each in passages if each.reason == "uses moor_ship"]
    assert len(using) == 2, "one in the code and one in the tests"
    assert all("moor_ship(harbour, " in shown and "def moor_ship" not in shown for shown in using)
    call = "berth = moor_ship(harbour, ship)"
    assert call in "".join(map(port.shown, passages[:2]))
    assert call in next(port.shown(each) for each in passages if each.stored.path == "harbour/arrival.py")


def test_a_flow_shows_its_steps(port: FolderWithPassages) -> None:
    passages = port.passages("What happens when a ship arrives, step by step?")[:5]
    assert {(passage.stored.path, passage.reason) for passage in passages} >= {
        ("harbour/arrival.py", "calls `moor_ship`"),
        ("harbour/mooring.py", "called by `receive`"),
    }


def test_a_change_shows_lists_and_mentions_of_the_family(folder_of: FolderOf) -> None:
    handlers = "".join(f'    "{name}": handle_{name},\n' for name in ("grain", "coal", "timber", "steel"))
    folder = folder_of(
        {
            "port/cargo.py": f'"""Cargo that cranes handle."""\n\nHANDLERS = {{\n{handlers}}}\n',
            "port/fees.py": 'def fee(cargo):\n    """Grain is cheaper than coal, and timber than steel."""\n    return 1\n',  # noqa: E501
            "port/tides.py": "def tide():\n    return 1\n",
        }
    )
    passages = folder.passages("What do I have to change to add another kind of cargo for cranes?")
    reasons = {passage.stored.path: passage.reason for passage in passages}
    assert reasons["port/cargo.py"] == reasons["port/fees.py"] == "mentions other members"


def test_a_reason_names_only_what_the_passage_defines(port: FolderWithPassages) -> None:
    passages = port.passages("How do moor_ship and MOORING_TIMEOUT_SECONDS work together?")
    reasons = {each.reason for each in passages if each.stored.path == "harbour/mooring.py"}
    assert "defines moor_ship" in reasons
    assert not any("MOORING_TIMEOUT_SECONDS" in reason for reason in reasons if reason.startswith("defines"))


def test_passages_are_distinct_lines_of_their_files_best_first(port: FolderWithPassages) -> None:
    passages = port.passages("how is a ship moored at a berth")
    scores = [passage.score for passage in passages]
    assert scores == sorted(scores, reverse=True)
    assert passages[0].reason
    for passage in passages:
        lines = PORT[passage.stored.path].split("\n")
        assert port.shown(passage) == "\n".join(lines[passage.first : passage.last])
    spans = sorted((each.stored.path, each.first, each.last) for each in passages)
    assert all(a[0] != b[0] or a[2] <= b[1] for a, b in pairwise(spans))


def test_a_reason_prefers_words_to_meaning(port: FolderWithPassages) -> None:
    passages = port.passages("how is a ship moored at a berth")
    reasons = [passage.reason for passage in passages if "berth" in port.shown(passage)]
    assert reasons
    assert "close in meaning" not in reasons


def test_a_reason_spells_a_name_as_written(port: FolderWithPassages) -> None:
    passages = port.passages("how does moor_ship get the SAFETY_MARGIN of a berth")
    assert "has SAFETY_MARGIN" in {passage.reason for passage in passages}


def test_passages_are_ranked_by_words_without_vectors(port: FolderWithPassages) -> None:
    passages = port.passages("where is a ship assigned to a berth that is long enough", with_vectors=False)
    assert passages[0].stored.path == "harbour/mooring.py"
    assert "close in meaning" not in {passage.reason for passage in passages}


@pytest.mark.parametrize("question", ["", "   ", "?", "…", "zxqvbn"])
@pytest.mark.parametrize("with_vectors", [True, False])
def test_a_question_without_known_words_is_answered(
    port: FolderWithPassages, question: str, with_vectors: bool
) -> None:
    passages = port.passages(question, with_vectors=with_vectors)
    assert all(passage.first < passage.last for passage in passages)


def test_best_chunks_may_be_in_one_file(folder_of: FolderOf) -> None:
    filler = "".join(f"    boxes.append(crate_{n})\n" for n in range(60))
    cranes = (
        f'def {verb}_the_crane(crane, load):\n    "{verb.title()} the load of a crane {where} the quay."\n'
        f"    boxes = []\n{filler}    return boxes\n"
        for verb, where in (("lower", "to"), ("raise", "from"))
    )
    folder = folder_of({"port/cranes.py": "\n\n".join(cranes), "docs/tides.md": "# Tides\n\nWater falls.\n"})
    found = folder.best_chunks("how is the load of a crane lowered and raised from the quay")
    assert [each.stored.path for each in found[:2]] == ["port/cranes.py", "port/cranes.py"]
    assert len({each.stored.id for each in found}) == len(found)


def test_terms_in_several_windows_of_a_definition_count_together(folder_of: FolderOf) -> None:
    lines = [f"    crane.lift(crate_{n})\n" for n in range(30)]
    lines[1], lines[-1] = "    paint(anchor)\n", "    paint(buoy)\n"
    found = folder_of({"port/yard.py": f"def tidy(crane):\n{''.join(lines)}"}).strength(
        "how are anchor and buoy tidied"
    )
    assert found is not None
    assert max(map(len, found.terms_by_definition)) == 3
