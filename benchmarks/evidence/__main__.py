"""Measure how many of the lines that an expert cites a discovery shows or names.

    python benchmarks/evidence --checkouts DIR --data DIR [--half kept|tuned] [--budgets 1000,2000,4000]
        [--each] [--signals] [--output FILE]

`questions.json` has 60 questions about fourteen code bases, each with the answer of an expert who read the
source with grep alone, and the lines on which it rests. The code bases marked `kept` are for checking, and
played no part in choosing a weight. Each is `DIR/NAME` at its commit; `unpublished.py` makes the two that no
model has read. Indexes are completed in the data folder.

`shown` is the share of the cited lines that the excerpts contain, by their numbers, `named` the share that
they or the named places contain, and `needed` the share of the excerpts' lines that are cited: means over the
questions, for a prompt of each number of tokens. Lines of fewer than four letters or digits do not count.
`--signals` also leaves out each signal of windows (`retrieval/window_signals.py`) and says what changes.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, field, frozen

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine.figures import Figures, run_conditions
from engine.opened import opened

from cairn import protocol
from cairn.engine.host import Host
from cairn.engine.runner import answer
from cairn.retrieval import window_ranking
from cairn.settings.tree import Settings

QUESTIONS = Path(__file__).with_name("questions.json")
_BUDGETS = (1_000, 2_000, 4_000)
_LEAST_LETTERS = 4
_ALMOST_NOTHING = 1e-9
"""The weight of a signal that is left out. The verdict still needs its value."""

Line = tuple[str, int]
"""A path and a 0-based number."""


@frozen
class Question:
    id: str
    code: str
    """The name of the code base."""
    kind: str
    text: str
    cited: frozenset[Line]

    @classmethod
    def of(cls, code: str, item: Mapping[str, Any]) -> Question:
        cited = frozenset(line for place in item["lines"] for line in lines_of_place(place))
        return cls(item["id"], code, item["kind"], item["q"], cited)


def lines_of_place(place: str) -> Iterator[Line]:
    """Yield the lines of `path:first-last`, which counts from 1 and includes the last."""
    path, _, span = place.rpartition(":")
    first, _, last = span.partition("-")
    yield from ((path, number - 1) for number in range(int(first), int(last or first) + 1))


def code_bases(path: Path, half: str) -> Iterator[tuple[str, list[Question]]]:
    """Yield the name and the questions of each code base of this half, or of all for ""."""
    for each in json.loads(path.read_text(encoding="utf-8")):
        if not half or each["kept"] == (half == "kept"):
            yield each["name"], [Question.of(each["name"], item) for item in each["questions"]]


@frozen
class Counted:
    """What an answer shows and names of the cited lines."""

    question: Question
    budget: int
    shown: float
    named: float
    needed: float
    tokens: int
    """The tokens of the prompt, by Cairn's own count."""


@frozen(eq=False)
class Text:
    """The lines of a checkout that count."""

    root: Path
    _files: dict[str, list[str]] = field(factory=dict, init=False)

    def counts(self, line: Line) -> bool:
        path, number = line
        if path not in self._files:
            file = self.root / path
            text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
            self._files[path] = text.split("\n")
        lines = self._files[path]
        return number < len(lines) and len(re.findall(r"\w", lines[number])) >= _LEAST_LETTERS


def counted(question: Question, budget: int, found: protocol.DiscoverAnswer, text: Text) -> Counted:
    cited, shown = set(filter(text.counts, question.cited)), set(filter(text.counts, _lines(found.excerpts)))
    named = cited & (shown | set(_lines(found.elsewhere)))
    return Counted(
        question,
        budget,
        shown=len(cited & shown) / max(1, len(cited)),
        named=len(named) / max(1, len(cited)),
        needed=len(cited & shown) / max(1, len(shown)),
        tokens=found.metrics.final_prompt_tokens,
    )


def _lines(places: Iterable[protocol.Excerpt | protocol.NamedPlace]) -> Iterator[Line]:
    for place in places:
        yield from ((place.path, line) for line in range(place.range.start.line, place.range.end.line))


def asked(
    checkout: Path, data: Path, questions: Sequence[Question], budgets: Sequence[int], host: Host
) -> Iterator[Counted]:
    """Ask every question about a checkout at each budget."""
    text = Text(checkout)
    with opened(checkout, data, host) as engine:
        for question in questions:
            for budget in budgets:
                config = {"render": {"maxPromptTokens": budget}}
                params = protocol.DiscoverParams(question.text, config=config)
                found = answer(engine.request(), "discover", params, as_json=False)
                yield counted(question, budget, found, text)


def figures(every: Sequence[Counted]) -> Figures:
    def mean(name: str) -> float:
        return round(sum(getattr(each, name) for each in every) / max(1, len(every)), 4)

    values = {name: mean(name) for name in ("shown", "named", "needed")}
    return {"questions": len(every), **values, "tokens": round(mean("tokens"))}


def without_each_signal(ask: Callable[[], Sequence[Counted]], before: Sequence[Counted]) -> Figures:
    """Return what each signal adds: its weight, and the change of `shown` and `named` without it, over all
    budgets."""
    every, changes = window_ranking.SIGNALS, Figures()
    usual = figures(before)
    try:
        for left_out in every:
            window_ranking.SIGNALS = tuple(
                evolve(signal, weight=_ALMOST_NOTHING) if signal is left_out else signal for signal in every
            )
            now = figures(ask())
            changes[left_out.title] = {
                "weight": left_out.weight,
                **{name: round(now[name] - usual[name], 4) for name in ("shown", "named")},
            }
            print(left_out.title, changes[left_out.title], file=sys.stderr, flush=True)
    finally:
        window_ranking.SIGNALS = every
    return changes


def main() -> None:
    options = _arguments()
    host = Host(Settings().embedding)

    def ask() -> list[Counted]:
        found: list[Counted] = []
        for name, questions in code_bases(options.questions, options.half):
            found += asked(options.checkouts / name, options.data, questions, options.budgets, host)
        return found

    every = ask()
    result: Figures = {}
    for budget in options.budgets:
        of_budget = [each for each in every if each.budget == budget]
        result[str(budget)] = figures(of_budget)
        kinds = sorted({each.question.kind for each in of_budget})
        result[str(budget)]["by_kind"] = {
            kind: figures([each for each in of_budget if each.question.kind == kind])["shown"]
            for kind in kinds
        }
    if options.signals:
        result["without"] = without_each_signal(ask, every)
    print(json.dumps(result, indent=2))
    if options.each:
        for each in every:
            print(each.budget, each.question.id, f"{each.shown:.2f} {each.named:.2f} {each.needed:.2f}")
    if options.output:
        record = {"conditions": run_conditions(), "half": options.half or "all", **result}
        options.output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--checkouts", type=Path, required=True, help="folder of the checkouts, by name")
    parser.add_argument("--data", type=Path, required=True, help="folder of the indexes")
    parser.add_argument("--questions", type=Path, default=QUESTIONS, help="another file of questions")
    parser.add_argument("--half", choices=("kept", "tuned"), default="", help="only these code bases")
    parser.add_argument("--budgets", type=_numbers, default=_BUDGETS, help="tokens, separated by commas")
    parser.add_argument("--each", action="store_true", help="also print each question's figures")
    parser.add_argument("--signals", action="store_true", help="also leave out each signal of windows")
    parser.add_argument("--output", type=Path, help="also write the figures here")
    return parser.parse_args()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))


if __name__ == "__main__":
    main()
