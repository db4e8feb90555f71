"""Measure whether a few words bring the thing itself, by its name, on its line.

    python benchmarks/palette --checkouts DIR --data DIR [--half kept|tuned] [--rows FILE] [--judged FILE]
        [--output FILE]

`queries.json` has 210 queries of one to four words over fifteen repositories, with the places that should
come first. Half of the queries are written by what a programmer remembers of a thing, half by its name. The
repositories marked `kept` are for checking, and played no part in choosing a weight. Each checkout is
`DIR/NAME` at the commit of the file; its index is completed in the data folder.

A row is right if it leads to a wanted place. `--rows` writes the rows for a judge, one JSON object a line.
`--judged` reads them back with a field `judged` for each row: 2 is what was wanted, 1 is related, 0 is not
wanted. Only then the share of unwanted rows is known.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.figures import Figures, run_conditions
from engine.opened import opened

from cairn import protocol
from cairn.engine.engine import Engine
from cairn.engine.host import Host
from cairn.engine.runner import answer
from cairn.settings.tree import Settings

QUERIES = Path(__file__).with_name("queries.json")
_ROWS = 6
"""The number of rows that are judged: those in sight without scrolling."""
_LIMIT = 12
"""The number of rows that the palette requests."""
_NEAR = 2
"""The number of lines by which a row may miss a place: a decorator or a comment above the name."""


@frozen
class Place:
    path: str
    line: int
    """The 1-based line."""

    @classmethod
    def of(cls, text: str) -> Place:
        path, _, line = text.rpartition(":")
        return cls(path, int(line))

    def is_near(self, other: Place) -> bool:
        return self.path == other.path and abs(self.line - other.line) <= _NEAR


@frozen
class Wanted:
    """A query, and the places that should come first."""

    repository: str
    query: str
    kind: str
    places: tuple[Place, ...]


@frozen
class Row:
    label: str
    place: Place
    tells: bool
    """Whether the row leads to a line with its name, or is called after its file."""


@frozen
class Shown:
    wanted: Wanted
    rows: tuple[Row, ...]
    ms: float

    @property
    def rank(self) -> int | None:
        """The 0-based number of the first right row; None if there is none among the first six."""
        near = (n for n, row in enumerate(self.rows) if any(map(row.place.is_near, self.wanted.places)))
        return next(near, None)


def repositories(path: Path, half: str) -> Iterator[tuple[str, Sequence[Wanted]]]:
    """Yield the name and the queries of each repository of this half, or of all for ""."""
    for each in json.loads(path.read_text(encoding="utf-8")):
        if not half or each["kept"] == (half == "kept"):
            yield (
                each["name"],
                [
                    Wanted(each["name"], q["query"], q["kind"], tuple(map(Place.of, q["should"])))
                    for q in each["queries"]
                ],
            )


def shown(checkout: Path, data: Path, wanted: Sequence[Wanted], host: Host) -> list[Shown]:
    """Ask every query of a repository, as the palette does."""
    with opened(checkout, data, host) as engine:
        return [_shown(engine, checkout, each) for each in wanted]


def _shown(engine: Engine, checkout: Path, wanted: Wanted) -> Shown:
    params = protocol.SearchParams(wanted.query, limit=_LIMIT, context=0, passages=1, best_only=True)
    began = time.perf_counter()
    found = answer(engine.request(), "search", params, as_json=False)
    ms = (time.perf_counter() - began) * 1000
    return Shown(wanted, tuple(_row(checkout, each) for each in found.results[:_ROWS]), ms)


def _row(checkout: Path, result: protocol.SearchResult) -> Row:
    line = result.selection_range.start.line
    lines = (checkout / result.path).read_text(encoding="utf-8", errors="replace").splitlines()
    name = result.symbol or result.title.rpartition(": ")[2]
    file = result.path.rpartition("/")[2]
    is_file = result.title in (file, file.partition(".")[0], file.rpartition(".")[0])
    tells = is_file or (bool(_letters(name)) and _letters(name) in _letters(" ".join(lines[line : line + 3])))
    return Row(result.title or result.path, Place(result.path, line + 1), tells)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, re.sub(r"\]\([^)]*\)|<[^>]*>", "", text))).lower()


def figures(every: Sequence[Shown]) -> Figures:
    ranks = [each.rank for each in every]
    rows = [row for each in every for row in each.rows]
    return {
        "queries": len(every),
        "first": _share(rank == 0 for rank in ranks),
        "among_three": _share(rank is not None and rank < 3 for rank in ranks),
        "nowhere": _share(rank is None for rank in ranks),
        "rows": len(rows),
        "labels": _share(row.tells for row in rows),
        "ms": round(statistics.median(each.ms for each in every), 1),
    }


def _share(values: Iterator[bool]) -> float:
    listed = list(values)
    return round(sum(listed) / max(1, len(listed)), 3)


def unwanted(path: Path, names: frozenset[str]) -> Figures:
    """Return the share of the judged rows that are not wanted, in the repositories of these names."""
    lines = path.read_text(encoding="utf-8").splitlines()
    judged = [
        row["judged"] for each in map(json.loads, lines) if each["repo"] in names for row in each["rows"]
    ]
    return {"rows": len(judged), "not_wanted": _share(each == 0 for each in judged)}


def written(each: Shown) -> str:
    wanted = each.wanted
    rows = [{"row": f"{row.label}  {row.place.path}:{row.place.line}"} for row in each.rows]
    places = [f"{place.path}:{place.line}" for place in wanted.places]
    record = {"repo": wanted.repository, "query": wanted.query, "should": places, "rows": rows}
    return json.dumps(record, ensure_ascii=False)


def main() -> None:
    options = _arguments()
    host = Host(Settings().embedding)
    every: list[Shown] = []
    for name, wanted in repositories(options.queries, options.half):
        every += shown(options.checkouts / name, options.data, wanted, host)
    result: Figures = {"all": figures(every)}
    for kind in dict.fromkeys(each.wanted.kind for each in every):
        result[kind] = figures([each for each in every if each.wanted.kind == kind])
    if options.judged:
        result["judged"] = unwanted(options.judged, frozenset(each.wanted.repository for each in every))
    print(json.dumps(result, indent=2))
    if options.rows:
        options.rows.write_text("".join(f"{written(each)}\n" for each in every), encoding="utf-8")
    if options.output:
        record = {"conditions": run_conditions(), "half": options.half or "all", **result}
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkouts", type=Path, required=True, help="folder of the checkouts, by name")
    parser.add_argument("--data", type=Path, required=True, help="folder of the indexes")
    parser.add_argument("--queries", type=Path, default=QUERIES, help="another file of queries")
    parser.add_argument("--half", choices=("kept", "tuned"), default="", help="only these repositories")
    parser.add_argument("--rows", type=Path, help="write the rows here for a judge")
    parser.add_argument("--judged", type=Path, help="rows with a judgement each")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
