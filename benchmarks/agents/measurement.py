"""Lets every loop answer every question, and measures the length of Cairn's answers."""

from __future__ import annotations

import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from answers.facts import FactQuestion
from answers.workplaces import Workplace
from attrs import field, frozen
from engine.figures import Figures

from agents.clients import Server
from agents.figures import cost
from agents.loops import Trace, follow, half, tokens
from agents.systems import CAIRN, CAIRN_SEARCH, LOOPS, SEMBLE, Tools, opened

BUDGETS = (500, 1_000, 2_000, 4_000)
"""The values of `max_tokens` at which answers are measured."""


@frozen
class LoopRuns:
    """The traces of one system's loops, by the loop's name."""

    traces: dict[str, list[Trace]] = field(factory=lambda: defaultdict(list))
    definitions: dict[str, float] = field(factory=dict)

    def chosen(self, questions: Sequence[FactQuestion]) -> str:
        """Return the loop that costs least on half `a` of these questions, or on all if that half is
        empty."""
        ids = {each.id for each in questions if half(each) == "a"} or {each.id for each in questions}

        def on_half(name: str) -> float:
            those = [trace for trace in self.traces[name] if trace.question.id in ids]
            return cost(those, self.definitions[name])

        return min(self.traces, key=on_half)


@frozen
class Measured:
    """The measurements of a run."""

    systems: dict[str, LoopRuns] = field(factory=lambda: defaultdict(LoopRuns))
    sizes: dict[str, list[float]] = field(factory=lambda: defaultdict(list))
    listing: dict[str, int] = field(factory=dict)
    """The bytes of `tools/list`."""


def measure(
    places: Sequence[Workplace],
    semble: Path | None,
    systems: Sequence[str],
    only: Mapping[str, str] | None = None,
) -> Measured:
    """Follow all loops of the systems, or those named by `only`, for each answerable question."""
    measured = Measured()
    wants_cairn = bool({CAIRN, CAIRN_SEARCH} & set(systems))
    for place in places:
        questions = [question for question in place.questions if question.answerable]
        if not questions:
            continue
        print(f"{place.repository.name}: {len(questions)} questions", file=sys.stderr, flush=True)
        with opened(place, semble if SEMBLE in systems else None, cairn=wants_cairn) as tools:
            for name in systems:
                _follow_all(tools, questions, name, measured.systems[name], (only or {}).get(name))
            if tools.cairn is not None:
                measured.listing["cairn"] = tools.cairn.listing_bytes
                for question in place.questions:
                    _sizes(tools.cairn, question.text, measured.sizes)
            for server in tools.semble.values():
                measured.listing["semble"] = server.listing_bytes
    return measured


def _follow_all(
    tools: Tools, questions: Sequence[FactQuestion], system: str, runs: LoopRuns, only: str | None
) -> None:
    for name, loop in LOOPS[system].items():
        if only is None or name == only:
            runs.definitions[name] = tools.definitions(loop)
            runs.traces[name] += [follow(question, tools.steps(loop, question)) for question in questions]


def _sizes(server: Server, question: str, sizes: dict[str, list[float]]) -> None:
    """Measure the bytes of a search with five results, and the used share of `max_tokens` budgets."""
    result = server.result("search", query=question, limit=5)
    sizes["search of five, bytes"].append(
        len(result.model_dump_json(by_alias=True, exclude_none=True).encode())
    )
    for tool in ("discover", "search"):
        for budget in BUDGETS:
            text = server.call(tool, query=question, max_tokens=budget)
            sizes[f"{tool} {budget:,}"].append(tokens(text) / budget)


def size_figures(sizes: Mapping[str, Sequence[float]]) -> Figures:
    """Return the mean and the maximum of each measurement."""
    return {
        name: {"mean": round(statistics.fmean(values), 3), "max": round(max(values), 3)}
        for name, values in sizes.items()
    }
