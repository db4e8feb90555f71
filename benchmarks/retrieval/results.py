"""Converts the measured answers to the JSON of the results file."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from engine.figures import Figures, run_conditions
from engine.place import git

from retrieval.ablation import IN_PROCESS, Variant
from retrieval.asking import Answer
from retrieval.measurement import Answers, Measured
from retrieval.sets import Repository
from retrieval.summary import ndcg, summary


def results(
    measured: Measured, repositories: Sequence[Repository], systems: Sequence[str], signals: Sequence[Variant]
) -> Figures:
    """Return conditions, repositories and, by mode, the summaries of systems and the effects of signals."""
    models = {figures.get("model") for by_mode in measured.indexes.values() for figures in by_mode.values()}
    return {
        "conditions": {
            **run_conditions(),
            "commit": commit(),
            "model": ", ".join(sorted(filter(None, models))),
        },
        "repositories": {
            repository.name: {
                "language": repository.language,
                "revision": repository.revision,
                "folder": repository.folder,
                "index": measured.indexes[repository.name],
            }
            for repository in repositories
        },
        "modes": {
            mode: {
                "systems": {name: _system(name, answers) for name in systems},
                "signals": {variant.name: _effect(variant, answers) for variant in signals},
            }
            for mode, answers in measured.modes.items()
        },
    }


def commit() -> str | None:
    """Return this repository's commit, with `+` if tracked files have changes; None outside of git."""
    here = Path(__file__).parent
    try:
        changed = git(here, "--no-optional-locks", "status", "--porcelain", "--untracked-files=no")
        return git(here, "rev-parse", "--short=12", "HEAD").strip() + ("+" if changed.strip() else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _system(name: str, answers: Answers) -> Figures:
    if name in answers.unavailable:
        return {"not_available": answers.unavailable[name]}
    return summary(answers.by_system[name])


def _effect(variant: Variant, answers: Answers) -> Figures:
    """Return NDCG@10 of the variant, and its difference to the full ranking, in total and by half."""
    about = {"weight": variant.default, "tried": next(iter(variant.weights.values()))}
    if variant.name in answers.unavailable:
        return {**about, "not_available": answers.unavailable[variant.name]}
    mine, full = answers.by_system[variant.name], answers.by_system[IN_PROCESS.name]
    return {
        **about,
        "ndcg_at_10": round(ndcg(mine), 4),
        "change": _change(mine, full),
        "change_by_half_of_questions": {
            half: _change(*(_half(some, half) for some in (mine, full)))
            for half in sorted({answer.question.half_of_questions for answer in full})
        },
        "questions_better": _count(mine, full, 1),
        "questions_worse": _count(mine, full, -1),
    }


def _change(mine: Sequence[Answer], full: Sequence[Answer]) -> float:
    return round(ndcg(mine) - ndcg(full), 4)


def _half(answers: Sequence[Answer], half: str) -> list[Answer]:
    return [answer for answer in answers if answer.question.half_of_questions == half]


def _count(mine: Sequence[Answer], full: Sequence[Answer], sign: int) -> int:
    pairs: list[tuple[Any, Any]] = list(zip(mine, full, strict=True))
    return sum((a.scores.ndcg_at_10 - b.scores.ndcg_at_10) * sign > 1e-9 for a, b in pairs)
