"""The graph of references is the same through any reader."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tests.index.conformance.indexes import Subject

from cairn.index.references.edges import Edge, Place
from cairn.index.references.graph import ReferenceGraph


@pytest.fixture
def graph(subject: Subject) -> ReferenceGraph:
    return ReferenceGraph(subject.reader)


def shown(places: Iterable[Place]) -> list[tuple[str, str]]:
    return [(place.path, place.qualified) for place in places]


def froms(edges: Iterable[Edge]) -> set[tuple[str, str]]:
    return {(edge.path, edge.enclosing.name if edge.enclosing else "") for edge in edges}


def test_definitions_are_found_by_name(graph: ReferenceGraph) -> None:
    assert shown(graph.named("tide_level")) == [("src/harbour/tide.py", "tide_level")]
    cranes = ["src/harbour/crane.py", "web/src/crane.ts"]
    assert shown(graph.named("Crane.lift")) == [(path, "Crane.lift") for path in cranes]
    assert shown(graph.named("winch_pull"))[0][0] == "native/winch.c"
    assert shown(graph.named("größe_des_schiffs")) == [("src/harbour/accents.py", "größe_des_schiffs")]
    assert graph.named("nowhere") == []
    assert graph.named("") == []


def test_places_lead_to_their_definitions(graph: ReferenceGraph) -> None:
    (place,) = graph.named("tide_level")
    assert graph.at(place.path, place.line, place.character) == [place]
    assert graph.at("nowhere", 0, 0) == []
    assert graph.at("README.md", 0, 0) == []
    around = graph.around("src/harbour/tide.py", place.line + 2)
    assert around is not None
    assert around.name == "tide_level"
    assert graph.around("src/harbour/tide.py", 0) is None
    assert graph.lines_alone(place.path, place.line + 1, 0, 100) == (place.start_line, place.end_line)


def test_callers_are_found_through_imports(graph: ReferenceGraph) -> None:
    edges = graph.callers(graph.named("tide_level"), 100)
    assert edges.complete
    assert froms(edges.found) == {
        ("src/harbour/berth.py", "dock_ship"),
        ("legacy/berth.py", "dock_ship"),
        ("src/harbour/tide.py", "next_high_tide"),
    }
    assert len(graph.callers(graph.named("tide_level"), 1).found) == 1
    assert froms(graph.callers(graph.named("winch_pull"), 100).found) == {("native/winch.c", "winch_release")}
    go = froms(graph.callers(graph.named("NewShip"), 100).found)
    assert go >= {("fleet/main.go", "main"), ("fleet/main.go", "Handler")}
    assert graph.callers([], 100).found == ()


def test_uses_tests_and_callees_are_found(graph: ReferenceGraph) -> None:
    free = graph.named("free_berths")
    users = {path for path, _ in froms(graph.uses(free, 100).found)}
    assert users >= {"src/harbour/berth.py", "tests/test_berth.py"}
    assert {edge.path for edge in graph.tests(free, 100).found} == {"tests/test_berth.py"}
    (high,) = graph.named("next_high_tide")
    callees = graph.callees(high, 100)
    assert [edge.target.name for edge in callees.found if edge.target] == ["tide_level"]


def test_implementations_extend_their_base(graph: ReferenceGraph) -> None:
    assert graph.implementations(graph.named("Crane"), 100).found == ()
