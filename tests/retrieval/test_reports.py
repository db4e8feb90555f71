"""Reports pasted as queries are parsed into terms, names, places and frames."""

from __future__ import annotations

import pytest
from tests.retrieval.indexed_folder import FolderOf
from tests.retrieval.searching import search

from cairn.retrieval.anchors import named_definitions
from cairn.retrieval.mentions import read_trace
from cairn.retrieval.query import understand
from cairn.retrieval.ranking import EVERYTHING
from cairn.retrieval.report import Report, read_report
from cairn.retrieval.signals import weighted
from cairn.settings.tree import SearchSettings

TALK = (
    "Crates fall from the crane while the ship is moored at the pier, and it goes unnoticed before noon. " * 3
)

ISSUE = """[Bug]: `Crane.lift` drops crates
### Bug summary
<!-- Please search the tracker before you file an issue about the weather -->
When a crane lifts a crate with `max-load` set, `port.cranes.Crane.lift` lets go of it. See
https://github.com/me/port/blob/main/src/port/cranes.py#L12 and https://example.com/unrelated/thoughts.

### Code for reproduction
```python
from port import Crane, anchor_ship
pier = Crane()
pier.lift(anchor_ship())
```

### Actual outcome
```
Traceback (most recent call last):
  File "/home/me/try.py", line 3, in <module>
    pier.lift(anchor_ship())
  File "/usr/lib/python3/site-packages/port/cranes.py", line 40, in lift
    self._grip(crate)
  File "/usr/lib/python3/site-packages/port/grips.py", line 9, in close_grip
    raise GripError("cannot hold 12 crates at once")
port.errors.GripError: cannot hold 12 crates at once
```

- [x] I have searched existing issues about zebras

### Environment
- OS: Debian
- port: 3.2.1
Quokka 4.5 is installed
"""


@pytest.fixture(scope="module")
def report() -> Report:
    found = read_report(ISSUE)
    assert found is not None
    return found


def test_a_label_is_not_part_of_the_title(report: Report) -> None:
    assert report.title == "`Crane.lift` drops crates"


@pytest.mark.parametrize("word", ["summary", "weather", "zebras", "debian", "quokka", "thoughts", "outcome"])
def test_boilerplate_is_left_out(report: Report, word: str) -> None:
    assert word not in report.terms()


def test_title_words_weigh_most(report: Report) -> None:
    terms = report.terms()
    assert terms["drops"] > terms["lets"] > terms["pier"]
    assert next(iter(terms)) in ("crane", "lift", "crates")


def test_frames_come_innermost_first(report: Report) -> None:
    assert [frame.name for frame in report.frames][:2] == ["close_grip", "lift"]


def test_names_have_owners_and_exclude_own_definitions(report: Report) -> None:
    names = {(name.text, name.owner) for name in report.names}
    assert {("lift", "Crane"), ("Crane", "cranes"), ("anchor_ship", ""), ("close_grip", "grips")} <= names
    assert "pier" not in dict(names)


@pytest.mark.parametrize(
    ("place", "least"), [("src/port/cranes.py", 1.0), ("port/cranes.*", 0.2), ("port/cranes/Crane.*", 0.2)]
)
def test_repository_links_and_modules_are_places(report: Report, place: str, least: float) -> None:
    assert report.places[place] >= least


def test_an_option_becomes_a_phrase(report: Report) -> None:
    assert report.options == ("max-load",)
    assert "max-load" in understand(ISSUE).phrases


def test_fixed_parts_of_an_error_are_literals() -> None:
    assert understand(ISSUE).literals == ("crates at once", "cannot hold")


@pytest.mark.parametrize(
    "text",
    [
        "how does routing work",
        "ValueError: berth is taken",
        "how does the crane lift a crate from the ship to the berth, " * 6,
        "\n".join(f"berth_{number} = moor(ship_{number})" for number in range(20)),
    ],
)
def test_questions_and_code_are_not_reports(text: str) -> None:
    assert read_report(text) is None


def test_synonyms_of_the_settings_count_in_reports() -> None:
    query = understand(ISSUE, settings=SearchSettings(synonyms={"crates": "boxes"}))
    assert "boxes" in query.terms
    assert query.weights["boxes"] == understand(ISSUE).weights["crates"]
    assert query.alternatives["boxes"] == ("crates",)


def test_a_foreign_report_is_translated() -> None:
    portuguese = "O guindaste não levanta a caixa\nQuando o navio está no porto, o erro acontece sempre. " * 4
    query = understand(portuguese)
    assert query.language == "Portuguese"
    assert "error" in query.terms


def test_a_weight_of_the_settings_counts_in_reports() -> None:
    signal = next(
        signal for signal in weighted({"commit subjects": 9.0}) if signal.title == "commit subjects"
    )
    assert signal.weight_for(understand(ISSUE)) == 9.0


def test_a_common_name_does_not_hide_a_rare_one(folder_of: FolderOf) -> None:
    files = {f"port/berth_{number}.py": "def moor(ship):\n    return ship\n" for number in range(100)}
    files["port/tension.py"] = "class GripTensioner:\n    pass\n"
    folder = folder_of(files)
    report = read_report(f"`moor` fails\n{TALK}\n`moor` calls `GripTensioner`.")
    assert report is not None
    found = named_definitions(folder.reader, report, EVERYTHING)
    (defining,) = folder.reader.chunks(found).values()
    assert defining.path == "port/tension.py"
    folder.type("port/new.py", "class GripTensioner:\n    pass\n")
    assert len(named_definitions(folder.reader, report, EVERYTHING)) == 2


@pytest.mark.parametrize(
    ("line", "path", "name"),
    [
        ("#1 0x4f21 in port::lift(int) /src/port/crane.cpp:12:3", "src/port/crane.cpp", "port::lift"),
        ("#3  lift (crate=0x0) at src/crane.c:88", "src/crane.c", "lift"),
        ("src/port/crane.cpp:12:3: error: no member named 'x'", "src/port/crane.cpp", ""),
        ("    crane_test.go:31: got 3, want 4", "crane_test.go", ""),
        ("tests/test_crane.py:31: in test_lift", "tests/test_crane.py", "test_lift"),
        ("tests/test_crane.py:31: AssertionError", "tests/test_crane.py", ""),
        ("    at com.port.Crane.lift(Crane.java:12)", "Crane.java", "com.port.Crane.lift"),
        ("    at Crane.lift (/app/src/crane.js:3:9)", "app/src/crane.js", "Crane.lift"),
        ("   at Port.Crane`1.Lift[TCrate,T](Func`3 grip, T[] crates) in /src/Port/Crane.cs:line 77", "src/Port/Crane.cs", "Port.Crane.Lift"),  # noqa: E501
        ("thread 'main' panicked at src/crane.rs:4:5:", "src/crane.rs", ""),
        ("\t/go/src/port/crane.go:12 +0x1d", "go/src/port/crane.go", ""),
    ],
)  # fmt: skip
def test_a_frame_names_its_file_and_function(line: str, path: str, name: str) -> None:
    trace = read_trace(f"it broke\n{line}\n")
    assert trace is not None
    assert (trace.frames[0].path, trace.frames[0].name) == (path, name)


@pytest.mark.parametrize(
    "report",
    [
        f"Crates fall\n{TALK}\nIt seems that `GripTensioner` is concerned.",
        f"Crates fall\n{TALK}\n```python\nfrom port import GripTensioner\nGripTensioner().hold()\n```",
        f"Crates fall\n{TALK}\nSee port.tension.",
        f'Crates fall\n{TALK}\nTraceback (most recent call last):\n  File "/opt/x/port/tension.py", line 2, in hold\nOSError: x',  # noqa: E501
        f"Crates fall\n{TALK}\nhttps://github.com/me/port/blob/0123abc/port/tension.py#L2",
    ],
)
def test_a_single_mention_finds_its_file(folder_of: FolderOf, report: str) -> None:
    files = {
        f"port/berth_{number}.py": f"def moor_{number}(ship, crane):\n    return ship.berth\n"
        for number in range(12)
    }
    files["port/tension.py"] = "class GripTensioner:\n    def hold(self):\n        return self.force\n"
    folder = folder_of(files)
    assert search([folder.reader], report)[0].stored.path == "port/tension.py"
