"""Measure how much of what the panel shows beside a place belongs there, by the verdicts of judges.

    python benchmarks/context SET [--checkouts DIR --data DIR] [--output FILE]

A set (`sets/*.json`) has places in code and in documents, the passages that versions of Cairn showed beside
each, and the verdicts of two judges, who knew neither the versions nor the reasons: 2 if a programmer at the
place is glad to see the passage, 1 if it is loosely related, 0 if it is noise. This prints the figures of
each version in the set. With --checkouts, it also asks the present version beside each place; its passages
have the verdicts of those that were judged, if at least half of the lines are the same. Each checkout is
`DIR/NAME` at the commit of the set; its index is completed in the data folder.

A passage counts once per judge. `judged` is the share of the passages with a verdict; the others do not count
in `useful` (2) and `noise` (0). `useful_beside_a_place` is the number of useful passages beside a place, so
that showing less does not improve every figure.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.figures import Figures, run_conditions
from engine.opened import opened

from cairn import protocol
from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.runner import answer
from cairn.settings.tree import Settings

_LIMIT = 6
"""The number of passages that judges saw of each version."""
_LEAST_SHARED = 0.5
"""The share of common lines from which a passage counts as one that was judged."""


@frozen
class Passage:
    path: str
    lines: range
    """The 1-based lines."""
    verdicts: tuple[int, ...] = ()

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Passage:
        first, _, last = item["lines"].partition("-")
        return cls(item["path"], range(int(first), int(last) + 1), tuple(item["verdicts"]))

    def shared(self, other: Passage) -> float:
        """Return the share of the lines of either passage that both have, from 0 to 1."""
        if self.path != other.path:
            return 0.0
        mine, others = set(self.lines), set(other.lines)
        return len(mine & others) / len(mine | others)


@frozen
class Place:
    repository: str
    kind: str
    """`code` or `doc`."""
    path: str
    line: int
    """The 1-based line."""
    passages: tuple[Passage, ...]
    """All judged passages."""
    shown: Mapping[str, tuple[Passage, ...]]
    """What each version showed, best first."""

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Place:
        path, _, line = item["place"].rpartition(":")
        passages = tuple(map(Passage.of, item["passages"]))
        shown = {
            version: tuple(passages[number] for number in numbers)
            for version, numbers in item["shown"].items()
        }
        return cls(item["repository"], item["kind"], path, int(line), passages, shown)

    def judged(self, passage: Passage) -> Passage:
        """Return a passage with the verdicts of the judged one that is nearest to it, if any is near."""
        nearest = max(self.passages, key=passage.shared, default=passage)
        is_near = passage.shared(nearest) >= _LEAST_SHARED
        return evolve(passage, verdicts=nearest.verdicts if is_near else ())


Beside = tuple[Place, Sequence[Passage]]
"""A place, and what a version shows beside it, best first."""


def places(path: Path) -> list[Place]:
    return [Place.of(item) for item in json.loads(path.read_text(encoding="utf-8"))["places"]]


def figures(shown: Sequence[Beside]) -> Figures:
    passages = [passage for _, found in shown for passage in found]
    useful = sum(p.verdicts.count(2) / len(p.verdicts) for p in passages if p.verdicts)
    return {
        "places": len(shown),
        "without_passages": sum(not found for _, found in shown),
        "passages": len(passages),
        "judged": _mean(bool(passage.verdicts) for passage in passages),
        "useful": _mean(verdict == 2 for passage in passages for verdict in passage.verdicts),
        "noise": _mean(verdict == 0 for passage in passages for verdict in passage.verdicts),
        "first_useful": _mean(verdict == 2 for _, found in shown for verdict in _first(found)),
        "useful_beside_a_place": round(useful / max(1, len(shown)), 2),
    }


def by_kind(shown: Sequence[Beside]) -> Figures:
    kinds = dict.fromkeys(place.kind for place, _ in shown)
    each = {kind: figures([beside for beside in shown if beside[0].kind == kind]) for kind in kinds}
    return {"all": figures(shown), **each}


def agreement(every: Sequence[Place]) -> float:
    """Return the share of the pairs of judges that gave a passage the same verdict."""
    pairs = [
        pair for place in every for passage in place.passages for pair in combinations(passage.verdicts, 2)
    ]
    return _mean(one == other for one, other in pairs)


def asked(checkouts: Path, data: Path, every: Sequence[Place]) -> list[Beside]:
    """Ask the present version beside each place."""
    host = Host(Settings().embedding)
    found: list[Beside] = []
    for name in dict.fromkeys(place.repository for place in every):
        with opened(checkouts / name, data, host) as engine:
            found += [
                (place, [place.judged(passage) for passage in _shown(engine, checkouts / name, place)])
                for place in every
                if place.repository == name
            ]
    return found


def _shown(engine: Engine, checkout: Path, place: Place) -> list[Passage]:
    document = protocol.TextDocument((checkout / place.path).absolute().as_uri())
    params = protocol.ContextParams(document, protocol.Position(place.line - 1, 0), limit=_LIMIT)
    found = answer(engine.request(), "context", params, as_json=False)
    return [
        Passage(each.result.path, range(each.result.range.start.line + 1, _last_line(each.result.range) + 1))
        for each in found.passages
    ]


def _last_line(lines: protocol.Range) -> int:
    """Return the 1-based last line of a range, which may end at the start of the line after it."""
    return lines.end.line if lines.end.character == 0 else lines.end.line + 1


def _first(found: Sequence[Passage]) -> tuple[int, ...]:
    return found[0].verdicts if found else ()


def _mean(values: Iterable[bool]) -> float:
    listed = list(values)
    return round(sum(listed) / max(1, len(listed)), 3)


def main() -> None:
    options = _arguments()
    every = places(options.set)
    versions = dict.fromkeys(version for place in every for version in place.shown)
    result: Figures = {"judges_agree": agreement(every)}
    for version in versions:
        result[version] = by_kind([(place, place.shown[version]) for place in every])
    if options.checkouts:
        result["now"] = by_kind(asked(options.checkouts, options.data, every))
    print(json.dumps(result, indent=2))
    if options.output:
        record = {"conditions": run_conditions(), "set": options.set.name, **result}
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", type=Path, help="a file of `sets`")
    parser.add_argument("--checkouts", type=Path, help="folder of the checkouts, by name")
    parser.add_argument("--data", type=Path, help="folder of the indexes")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    options = parser.parse_args()
    if bool(options.checkouts) != bool(options.data):
        parser.error("--checkouts and --data need each other")
    return options


if __name__ == "__main__":
    main()
