"""Computes how often the wanted files are among the first ones, by half, language and repository."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from engine.figures import Figures

from change.measurement import BASELINES, CAIRN, COMPANIONS, TESTS, Outcome
from change.sets import is_source

AT = (1, 5, 10)
_SYSTEMS = (CAIRN, *BASELINES)


def hits(outcome: Outcome, system: str) -> list[float]:
    """Return for each depth of AT whether a wanted file is within it."""
    listed = outcome.listed[system]
    return [float(not outcome.wanted.isdisjoint(listed[:depth])) for depth in AT]


def recall(outcome: Outcome, system: str, *, source: bool, alone: bool = True) -> list[float]:
    """Return for each depth of AT the share of the wanted files within it.

    With `source`, only files of the source are wanted. With `alone`, other files take no places then.
    """
    wanted = {path for path in outcome.wanted if is_source(path)} if source else set(outcome.wanted)
    listed = [path for path in outcome.listed[system] if is_source(path) or not (source and alone)]
    return [len(wanted.intersection(listed[:depth])) / len(wanted) for depth in AT]


def figures(outcomes: Sequence[Outcome]) -> Figures:
    """Return the figures of all systems over some outcomes of both tasks."""
    tests = [each for each in outcomes if each.task == TESTS and each.wanted]
    others = [each for each in outcomes if each.task == COMPANIONS and each.wanted]
    source = [each for each in others if any(map(is_source, each.wanted))]
    return {
        "tests": {"commits": len(tests), **_means(tests, hits)},
        "companions_source": {
            "commits": len(source),
            **_means(source, lambda each, system: recall(each, system, source=True)),
        },
        "companions_source_as_listed": {
            "commits": len(source),
            **_means(source, lambda each, system: recall(each, system, source=True, alone=False)),
        },
        "companions_all_files": {
            "commits": len(others),
            **_means(others, lambda each, system: recall(each, system, source=False)),
        },
    }


def _means(
    outcomes: Sequence[Outcome], of_each: Callable[[Outcome, str], list[float]]
) -> dict[str, dict[str, float]]:
    means = {}
    for system in _SYSTEMS if outcomes else ():
        columns = zip(*(of_each(each, system) for each in outcomes), strict=True)
        means[system] = {
            str(depth): round(statistics.mean(column), 4) for depth, column in zip(AT, columns, strict=True)
        }
    return means


def grouped(outcomes: Sequence[Outcome], name: Callable[[Outcome], str]) -> dict[str, Figures]:
    """Return the figures of each group of outcomes, by its name."""
    names = sorted({name(each) for each in outcomes})
    return {found: figures([each for each in outcomes if name(each) == found]) for found in names}


def markdown(halves: Mapping[str, Figures]) -> str:
    """Return the tables of the halves."""
    lines = []
    for half, found in halves.items():
        lines += [f"**{half}**", "", "| task | system | first 1 · 5 · 10 |", "|---|---|---|"]
        for task, systems in found.items():
            for system in _SYSTEMS:
                if system in systems:
                    shown = " · ".join(f"{value:.3f}" for value in systems[system].values())
                    lines.append(f"| {task} ({systems['commits']}) | {system} | {shown} |")
        lines.append("")
    return "\n".join(lines)
