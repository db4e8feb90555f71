"""Writes the results as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping

from engine.figures import NOT_AVAILABLE, Figures
from engine.markdown import table

_COLUMNS = {
    "NDCG@10": "ndcg_at_10",
    "P@3": "precision_at_3",
    "… of attainable": "attainable_precision_at_3",
    "P@10": "precision_at_10",
    "… of attainable ": "attainable_precision_at_10",
    "R@10": "recall_at_10",
    "MRR": "mrr",
    "critical in top 3": "critical_at_3",
}
_GROUPS = {
    "repository": "by_repository",
    "language": "by_language",
    "category": "by_category",
    "half of the questions": "by_half_of_questions",
    "half of the repositories": "by_half_of_repositories",
}


def markdown(results: Figures) -> str:
    """Return the whole report."""
    parts = [_conditions(results)]
    for mode, measured in results["modes"].items():
        parts += [f"## {mode}", _systems(measured["systems"])]
    parts += [
        "## NDCG@10 by group",
        *(_group(title, key, results["modes"]) for title, key in _GROUPS.items()),
    ]
    if any(measured["signals"] for measured in results["modes"].values()):
        parts += ["## Signals", _SIGNALS_NOTE, _signals(results["modes"])]
    parts += ["## Indexes", _indexes(results["repositories"])]
    return "\n\n".join(parts) + "\n"


_SIGNALS_NOTE = (
    "The change of NDCG@10 without a signal that has a weight, or with one that has none; in brackets the "
    "change in the two halves of the questions; and the numbers of better and worse answers."
)


def _conditions(results: Figures) -> str:
    conditions = results["conditions"]
    return (
        f"# Retrieval\n\n{conditions['date']}, {conditions['machine']}, Python {conditions['python']}, Cairn "
        f"{conditions['cairn']} at {conditions['commit']}, {conditions['model']}; load {conditions['load']}, "
        f"nice {conditions['nice']}."
    )


def _systems(systems: Mapping[str, Figures]) -> str:
    rows = []
    for name, figures in systems.items():
        if "not_available" in figures:
            rows.append([name, f"{NOT_AVAILABLE}: {figures['not_available']}", *[""] * (len(_COLUMNS) + 2)])
            continue
        questions, repositories = figures["mean_of_questions"], figures["mean_of_repositories"]
        values = [_number(questions[key]) for key in _COLUMNS.values()]
        values.insert(1, _number(repositories["ndcg_at_10"]))
        rows.append([name, *values, f"{figures['ms']['p50']}", f"{figures['ms']['p95']}"])
    first, *others = _COLUMNS
    return table(["", first, "… mean of repositories", *others, "p50 ms", "p95 ms"], rows)


def _group(title: str, key: str, modes: Mapping[str, Figures]) -> str:
    columns = {
        f"{name}, {mode}": figures[key]
        for mode, measured in modes.items()
        for name, figures in measured["systems"].items()
        if key in figures
    }
    values = next(iter(columns.values()))
    rows = [
        [
            value,
            str(part["questions"]),
            *(_number(column[value]["ndcg_at_10"]) for column in columns.values()),
        ]
        for value, part in values.items()
    ]
    return table([title, "questions", *columns], rows)


def _signals(modes: Mapping[str, Figures]) -> str:
    names = next(iter(modes.values()))["signals"]
    rows = []
    for name, about in names.items():
        effects = [_effect(measured["signals"][name]) for measured in modes.values()]
        rows.append([name, f"{about['weight']:g} → {about['tried']:g}", *effects])
    return table(["", "weight", *modes], rows)


def _effect(figures: Figures) -> str:
    if "not_available" in figures:
        return f"{NOT_AVAILABLE}: {figures['not_available']}"
    halves = " / ".join(f"{change:+.3f}" for change in figures["change_by_half_of_questions"].values())
    return (
        f"{figures['change']:+.4f} ({halves}); {figures['questions_better']} ↑ {figures['questions_worse']} ↓"
    )


def _indexes(repositories: Mapping[str, Figures]) -> str:
    columns = ("files", "chunks", "index_mb", "all_files_indexed_s", "ready_s")
    rows = [
        [name, mode, *("" if figures[column] is None else str(figures[column]) for column in columns)]
        for name, repository in repositories.items()
        for mode, figures in repository["index"].items()
    ]
    return table(["", "mode", "files", "chunks", "MB", "all files read, s", "ready, s"], rows)


def _number(value: float) -> str:
    return f"{value:.3f}"
