"""Serves every checkout by the real daemon and asks every system every question."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from attrs import field, frozen
from engine.daemon import Daemon
from engine.figures import Figures
from engine.index_file import UnavailableError, opened

from answers.asking import CAIRN, Retrieved
from answers.baselines import RIPGREP, SEMBLES, ask_ripgrep, ask_semble
from answers.facts import FactQuestion, translated
from answers.workplaces import Workplace

SYSTEMS = (*CAIRN, *RIPGREP, *SEMBLES)


@frozen
class Answers:
    """The answers of the systems by name, the reasons why a system could not answer, and figures of the
    indexes by repository."""

    retrieved: dict[str, list[Retrieved]] = field(factory=lambda: defaultdict(list))
    translated: dict[str, dict[str, list[Retrieved]]] = field(
        factory=lambda: defaultdict(lambda: defaultdict(list))
    )
    """The same answers for other languages, by language."""
    unavailable: dict[str, str] = field(factory=dict)
    indexes: dict[str, Figures] = field(factory=dict)


def measure(
    places: Sequence[Workplace],
    systems: Sequence[str],
    semble: Path | None,
    translations: Mapping[str, Mapping[str, str]],
) -> Answers:
    """Ask all questions. `semble` is an interpreter that has it; `translations` has questions by language and
    id.

    A system that cannot be asked about one of the places has no figures.
    """
    collected = Answers()
    for place in places:
        print(f"{place.repository.name}: {len(place.questions)} questions", file=sys.stderr, flush=True)
        with place.served() as (daemon, figures):
            collected.indexes[place.repository.name] = figures
            ways = _ways(place, daemon, semble)
            for name in systems:
                try:
                    collected.retrieved[name] += ways[name](place.questions)
                    for language, texts in translations.items():
                        collected.translated[language][name] += ways[name](translated(place.questions, texts))
                except UnavailableError as reason:
                    collected.unavailable[name] = str(reason)
    return collected


def _ways(
    place: Workplace, daemon: Daemon, semble: Path | None
) -> Mapping[str, Callable[[Sequence[FactQuestion]], list[Retrieved]]]:
    """Return the functions that ask each system about a place."""

    def cairn(name: str, questions: Sequence[FactQuestion]) -> list[Retrieved]:
        return [CAIRN[name](daemon.request, question, place.tree) for question in questions]

    def ripgrep(files: int | None, questions: Sequence[FactQuestion]) -> list[Retrieved]:
        with opened(place.data) as index:
            return ask_ripgrep(index, place.tree, questions, files)

    def others(content: Sequence[str], questions: Sequence[FactQuestion]) -> list[Retrieved]:
        return ask_semble(semble, place.tree, questions, content)

    return {
        **{name: partial(cairn, name) for name in CAIRN},
        **{name: partial(ripgrep, files) for name, files in RIPGREP.items()},
        **{name: partial(others, content) for name, content in SEMBLES.items()},
    }
