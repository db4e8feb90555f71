"""Writes the results as Markdown tables."""

from __future__ import annotations

from collections.abc import Mapping

from engine.figures import Figures
from engine.markdown import table

from agents.real.scoring import BASE, COSTS

_COSTS = f"""\
Each cell has the sum, the median of the runs, and both for each question divided by those of the arm {BASE}.
The ratios compare the sets that both arms answered."""
_QUALITY = """\
“Cited” is the mean share of the reference ranges that an answer cites. “Given up” counts the questions that
have an answer where the agent said that there is none. A missing answer counts as wrong."""


def markdown(results: Figures) -> str:
    """Return the whole report."""
    conditions, arms, runs = results["conditions"], results["arms"], results["runs"]
    about = (
        f"{conditions['date']}, model {conditions['model']}, Cairn {conditions['cairn']} at "
        f"{conditions['commit']}, {conditions['machine']}. {conditions['setup']}"
    )
    commands = [[name, _counts(each["commands"])] for name, each in arms.items()]
    costs = [
        [name, *(f"{each[cost]:,}" for cost in COSTS), str(each["refused"])] for name, each in runs.items()
    ]
    parts = ["# Real agents", about.strip(), _COSTS, _costs(arms), _QUALITY, _quality(arms, "arm")]
    parts += ["## By kind of question", *(_quality(each["kinds"], name) for name, each in arms.items())]
    parts += ["## By repository", _repositories(arms)]
    parts += ["## Commands", table(["arm", "calls"], commands)]
    parts += ["## Runs", table(["run", *COSTS, "refused calls"], costs), _quality(runs, "run")]
    return "\n\n".join(parts) + "\n"


def _costs(arms: Mapping[str, Figures]) -> str:
    rows = []
    for name, each in arms.items():
        cells = [
            f"{each[cost]['sum']:,} · {each[cost]['median']:,} · {_number(each[cost]['ratio'])} · "
            f"{_number(each[cost]['ratio_of_medians'])}"
            for cost in COSTS
        ]
        rows.append([name, str(each["runs"]), str(each["questions"]), *cells, str(each["refused"])])
    return table(["arm", "runs", "questions", *COSTS, "refused calls"], rows)


def _quality(rows: Mapping[str, Figures], what: str) -> str:
    head = [what, "answered", "cited", "correct", "absent recognized", "given up", "malformed citations"]
    return table(
        head,
        [
            [
                name,
                f"{each['answered']} of {each['questions']}",
                _number(each["cited"]),
                _number(each["correct"]),
                f"{each['absent_recognized']} of {each['absent']}",
                str(each["given_up"]),
                str(each["malformed"]),
            ]
            for name, each in rows.items()
        ],
    )


def _repositories(arms: Mapping[str, Figures]) -> str:
    rows = [
        [repository, name, str(spent["questions"]), *(f"{spent[cost]:,}" for cost in COSTS)]
        for repository in sorted({each for arm in arms.values() for each in arm["repositories"]})
        for name, arm in arms.items()
        if (spent := arm["repositories"].get(repository))
    ]
    return table(["repository", "arm", "questions", *COSTS], rows)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
