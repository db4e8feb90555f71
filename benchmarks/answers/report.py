"""Writes the results as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping

from engine.figures import NOT_AVAILABLE, Figures
from engine.markdown import table

from answers.facts import BUDGETS, MAIN_BUDGET

_BUDGETS = [f"{budget:,}" for budget in BUDGETS]
_GROUPS = ("set", "kind", "repository")


def markdown(results: Figures) -> str:
    """Return the whole report."""
    systems = results["systems"]
    parts = [_conditions(results["conditions"]), tables(systems)]
    if results["translations"]:
        parts += ["## Other languages", _translations(results["translations"])]
    parts += ["## Indexes", _indexes(results["repositories"])]
    return "\n\n".join(parts) + "\n"


def tables(systems: Mapping[str, Figures]) -> str:
    """Return the tables of the systems by name. Only the first table says why a system is not available."""
    measured = {name: figures for name, figures in systems.items() if "facts" in figures}
    return "\n\n".join(
        [
            "## Share of the facts, by tokens",
            _by_budget(systems, "facts"),
            "## Share of the vital facts",
            _by_budget(measured, "vital_facts"),
            f"## Share of the facts at {MAIN_BUDGET:,} tokens",
            *(_by_group(measured, group) for group in _GROUPS),
            "## Verdicts, and excerpts that equal their cited lines",
            _verdicts(measured),
            "## Tokens and times",
            _costs(measured),
        ]
    )


def _conditions(conditions: Figures) -> str:
    return (
        f"# Answers\n\n{conditions['date']}, {conditions['machine']}, Python {conditions['python']}, Cairn "
        f"{conditions['cairn']} at {conditions['commit']}, {conditions['model']}; load {conditions['load']}, "
        f"nice {conditions['nice']}. Sets: {', '.join(conditions['sets'])}."
    )


def _by_budget(systems: Mapping[str, Figures], key: str) -> str:
    rows = []
    for name, figures in systems.items():
        if key in figures:
            rows.append([name, *(_number(figures[key][str(budget)]) for budget in BUDGETS)])
        else:
            rows.append([name, f"{NOT_AVAILABLE}: {figures['not_available']}", *[""] * (len(BUDGETS) - 1)])
    return table(["", *_BUDGETS], rows)


def _by_group(systems: Mapping[str, Figures], group: str) -> str:
    key = f"facts_by_{group}"
    groups: Figures = next((each[key] for each in systems.values()), {})
    rows = [
        [value, str(part["questions"]), *(_number(each[key][value]["facts"]) for each in systems.values())]
        for value, part in groups.items()
    ]
    return table([group, "questions", *systems], rows)


def _verdicts(systems: Mapping[str, Figures]) -> str:
    head = [
        "",
        "answerable",
        "… answered",
        "… refused",
        "unanswerable",
        "… refused",
        "excerpts",
        "… equal to their file",
    ]
    rows = [
        [
            name,
            _counts(each["actions"]["answerable"]),
            _percent(each["answered"]),
            _percent(each["answerable_refused"]),
            _counts(each["actions"]["unanswerable"]),
            _percent(each["refused"]),
            str(each["cited"] or ""),
            _percent(each["standing"], 2),
        ]
        for name, each in systems.items()
        if any(each["actions"].values())
    ]
    return table(head, rows)


def _costs(systems: Mapping[str, Figures]) -> str:
    head = ["tokens within", *_BUDGETS, "p50 ms", "p95 ms", "answers in a lower phase"]
    rows = [
        [
            name,
            *(str(each["tokens"][str(budget)]) for budget in BUDGETS),
            str(each["ms"]["p50"]),
            str(each["ms"]["p95"]),
            str(each["answers_in_a_lower_phase"]),
        ]
        for name, each in systems.items()
    ]
    return table(head, rows)


def _translations(translations: Mapping[str, Mapping[str, Figures]]) -> str:
    rows = [
        [
            language,
            name,
            str(figures["questions"]),
            _number(figures["facts"]),
            _number(figures["english"]),
            _percent(figures["of_english"]),
        ]
        for language, systems in translations.items()
        for name, figures in systems.items()
    ]
    head = ["", "", "questions", f"facts at {MAIN_BUDGET:,} tokens", "the same in English", "share of it"]
    return table(head, rows)


def _indexes(repositories: Mapping[str, Figures]) -> str:
    columns = ("files", "chunks", "index_mb", "all_files_indexed_s", "ready_s")
    rows = [
        [name, *("" if each["index"][column] is None else str(each["index"][column]) for column in columns)]
        for name, each in repositories.items()
    ]
    return table(["", "files", "chunks", "MB", "all files read, s", "ready, s"], rows)


def _counts(actions: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {action}" for action, count in actions.items())


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _percent(value: float | None, digits: int = 0) -> str:
    return "" if value is None else f"{value:.{digits}%}"
