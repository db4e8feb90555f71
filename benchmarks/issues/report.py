"""Computes the accuracy by project: whether all files that a fix changed are among the first ones."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from engine.figures import Figures

from issues.measurement import Found
from issues.sets import is_code

AT = (1, 3, 5, 10)
_FIRST_PASSAGES = 10


def rank_of(found: Found, *, code_only: bool) -> int | None:
    """Return the rank, from 1, of the last of the changed files; None if one of them is not found.

    With `code_only` other files and tests are left out on both sides.
    """
    wanted = {path for path in found.issue.changed if is_code(path)} if code_only else found.issue.changed
    listed = [path for path in found.paths if not code_only or is_code(path)]
    if not wanted.issubset(listed):
        return None
    return max((listed.index(path) + 1 for path in wanted), default=1)


def accuracy(every: Sequence[Found], *, code_only: bool) -> dict[str, float]:
    """Return for each depth of AT the share of the issues with all changed files within that depth."""
    ranks = [rank_of(each, code_only=code_only) for each in every]
    return {str(at): round(sum(r is not None and r <= at for r in ranks) / len(ranks), 4) for at in AT}


def figures(every: Sequence[Found]) -> Figures:
    """Return the figures of one system over at least one issue."""
    with_functions = [each for each in every if each.changed]
    single = [each for each in every if len(each.issue.changed) == 1]
    shown = [not each.changed.isdisjoint(each.definitions[:_FIRST_PASSAGES]) for each in with_functions]
    times = sorted(each.ms for each in every)
    return {
        "issues": len(every),
        "code_files": accuracy(every, code_only=True),
        "all_files": accuracy(every, code_only=False),
        "issues_of_one_file": len(single),
        "one_code_file": accuracy(single, code_only=True) if single else None,
        "issues_with_functions": len(with_functions),
        "a_changed_function_among_10": round(statistics.mean(shown), 4) if shown else None,
        "ms_p50": round(statistics.median(times), 1),
        "ms_p95": round(times[min(len(times) - 1, int(0.95 * len(times)))], 1),
    }


def by_project(every: Sequence[Found]) -> dict[str, Figures]:
    """Return the figures by repository, and of all under `all`."""
    names = sorted({each.issue.repository for each in every})
    found = {name: figures([each for each in every if each.issue.repository == name]) for name in names}
    return {**found, "all": figures(every)}


def markdown(systems: dict[str, dict[str, Figures]]) -> str:
    """Return the tables of all systems."""
    lines = []
    for system, projects in systems.items():
        lines += [
            f"**{system}**",
            "",
            "| project | issues | code files: first 1 · 3 · 5 · 10 | all files | one changed file | "
            "function among 10 | p50 · p95 ms |",
            "|---|---|---|---|---|---|---|",
        ]
        for name, each in projects.items():
            shares = (each["code_files"], each["all_files"], each["one_code_file"])
            cells = [" · ".join(f"{value:.2f}" for value in (share or {}).values()) for share in shares]
            function = each["a_changed_function_among_10"]
            lines.append(
                f"| {name} | {each['issues']} | {' | '.join(cells)} | "
                f"{'' if function is None else f'{function:.2f}'} | {each['ms_p50']:.0f} · "
                f"{each['ms_p95']:.0f} |"
            )
        lines.append("")
    return "\n".join(lines)
