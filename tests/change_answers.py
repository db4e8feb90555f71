"""Answers of `cairn/change`, for tests of their text."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from cairn import protocol
from cairn.protocol import ChangedDefinition, ChangedFrom, ChangeKind, ChangePlace, FileStatus, whole_lines

BERTHS, SCHEDULE = "src/berths.py", "src/schedule.py"


def place(
    path: str, line: int, symbol: str = "", code: str = "", *reasons: str, **fields: Any
) -> ChangePlace:
    found = ChangePlace(
        path=path,
        uri=f"file:///harbour/{path}",
        folder="file:///harbour",
        range=whole_lines(line - 1, line),
        symbol=symbol,
        kind="call",
        reasons=reasons,
        confidence=1.0,
        line=code,
    )
    return evolve(found, **fields)


def definition(
    first: int, last: int, symbol: str, kind: ChangeKind, line: str, before: str = "", *reasons: str
) -> ChangedDefinition:
    """Return a definition in `BERTHS`, whose head was `before`."""
    return ChangedDefinition(
        path=BERTHS,
        uri=f"file:///harbour/{BERTHS}",
        folder="file:///harbour",
        range=whole_lines(first - 1, last),
        symbol=symbol,
        kind=kind,
        definition_kind="method",
        line=line,
        before=ChangedFrom(BERTHS, symbol, whole_lines(first - 1, last), before) if before else None,
        reasons=reasons,
    )


NOTHING = protocol.ChangeAnswer(
    files=(),
    changed=(),
    dependents=(),
    tests=(),
    commands=(),
    companions=(),
    unreached=(),
    prompt="",
    prompt_tokens=0,
    base="1a2b3c4d5e6f",
    complete=True,
    messages=(),
    left_out={},
    index=protocol.IndexState(1, True),
    timings={},
)
CHANGED = evolve(
    NOTHING,
    files=(protocol.ChangedFile(BERTHS, f"file:///harbour/{BERTHS}", FileStatus.MODIFIED),),
    changed=(
        definition(
            *(12, 16, "Berth.moor", ChangeKind.SIGNATURE, "def moor(self, ship, at):"),
            *("def moor(self, ship):", "its signature changed"),
        ),
        definition(
            20, 31, "Berth.leave", ChangeKind.BODY, "def leave(self):", "def leave(self):", "its body changed"
        ),
    ),
    dependents=(
        place(SCHEDULE, 15, "assign", "    berth.moor(ship)", "calls Berth.moor", is_stale=True, about=(0,)),
        place(SCHEDULE, 25, "clear", "    berth.leave()", "calls Berth.leave", confidence=0.6, about=(1,)),
    ),
    tests=(place("tests/test_berths.py", 4, "test_moor", "def test_moor():", "calls Berth.moor"),),
    commands=(
        protocol.TestCommand("pytest tests/test_berths.py::test_moor", "", ("tests/test_berths.py",)),
        protocol.TestCommand("npx vitest run berths.test.ts", "web", ("web/berths.test.ts",)),
    ),
    companions=(place("docs/berths.md", 3, "", "`moor` takes a ship.", "names Berth.moor", kind="document"),),
    unreached=(place(BERTHS, 20, "Berth.leave", "def leave(self):", kind="body"),),
    prompt="# Review\n",
    prompt_tokens=1_200,
    messages=("The history is shallow.",),
)
"""A signature and a body changed; one call is stale."""
