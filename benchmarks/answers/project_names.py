#!/usr/bin/env python3
"""Measure whether answers get worse if a question names the project that the workspace contains.

    python benchmarks/answers/project_names.py --sets DIR [DIR ...] --checkouts DIR [DIR ...] --data DIR
      [--lines FILE] [--output FILE]

Each question of the sets (of `benchmarks/retrieval`) that does not name its project is asked in each of
`WORDINGS`, with and without the name of the repository. Cairn answers in this process (`in_process.py`), over
indexes of whole checkouts that the daemon makes if they are missing. `--lines` names a file with the lines
that experts cite: `[{repo, q, lines: ["path:first-last"]}]`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import mean
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from attrs import frozen
from engine.figures import Figures, run_conditions
from retrieval.checkouts import CheckoutError, add_checkouts_option
from retrieval.metrics import DEPTH, Span, score
from retrieval.results import commit
from retrieval.sets import Question, Repository, SetError, half_of, read_sets

from answers.asking import Request
from answers.in_process import opened
from answers.workplaces import prepared
from cairn.engine.host import Host
from cairn.settings.layers import CHARACTERS
from cairn.settings.tree import Settings

_ASKS = re.compile(r"(?:how|what|why|where|which|when|who|is|are|does|do|can|should)\b", re.IGNORECASE)
_FEWEST_WORDS = 3
"""The minimum number of words of a question. With the name, a query of one or two means a definition."""
_SAME = 1e-9
"""The largest difference between figures that are the same."""


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:] if text.split()[0][1:].islower() else text


def _does(subject: str, text: str) -> str:
    ends_with = f"{text.rstrip('?.')} with {subject}"
    return ends_with if _ASKS.match(text) else f"how does {subject} {_lowered(text)}"


Put = Callable[[str, str], str]
"""Returns the wording of a question with a name."""

WORDINGS: Mapping[str, tuple[Put, Put]] = {
    "in NAME, …": (lambda name, text: f"in {name}, {_lowered(text)}", lambda _, text: text),
    "… in NAME": (lambda name, text: f"{text.rstrip('?.')} in {name}", lambda _, text: text),
    "NAME's …": (lambda name, text: f"{name}'s {_lowered(text)}", lambda _, text: text),
    "how does NAME …": (_does, lambda _, text: _does("it", text)),
}
"""The ways to put the name of a project into a question, each with the same question without the name."""


@frozen
class Cited:
    """A question with the lines that an expert's answer cites."""

    query: str
    lines: frozenset[tuple[str, int]]


@frozen
class Compared:
    """A figure of one question without and with the name of its project."""

    repository: Repository
    wording: str
    figure: str
    """`search` and `discover`: NDCG@10 of the results, and of the files of the excerpts in their order.
    `shown`: the share of the cited lines within the excerpts."""
    question: str
    without: float
    named: float


def compare(
    request: Request, repository: Repository, questions: Sequence[Question], cited: Sequence[Cited]
) -> Iterator[Compared]:
    """Ask all questions about a repository, in each wording."""
    name = repository.address.rpartition("/")[2].removesuffix(".git")
    figures = cache(partial(_figures, request))  # Several wordings are the same question without the name.
    for wording, (put, without) in WORDINGS.items():
        for question in (*questions, *cited):
            before = figures(question, without(name, question.query))
            now = figures(question, put(name, question.query))
            for figure, value in before.items():
                yield Compared(repository, wording, figure, question.query, value, now[figure])


def _figures(request: Request, question: Question | Cited, text: str) -> Mapping[str, float]:
    """Return the figures of a question that is asked in the wording `text`."""
    shown = _discover(request, text)
    if isinstance(question, Cited):
        lines = {(span.path, line) for span in shown for line in _lines(span)}
        return {"shown": len(question.lines & lines) / len(question.lines)}
    results = request("cairn/search", {"query": text, "limit": DEPTH, "context": 0})["results"]
    return {"search": _ndcg(question, map(_span, results)), "discover": _ndcg(question, _files(shown))}


def _discover(request: Request, text: str) -> list[Span]:
    render = {"tokenizer": CHARACTERS}
    answer = request("cairn/discover", {"query": text, "config": {"render": render}})
    return [_span(excerpt) for excerpt in answer["excerpts"]]


def _span(result: Mapping[str, Any]) -> Span:
    lines = result["range"]
    return Span(result["path"], lines["start"]["line"] + 1, lines["end"]["line"])


def _lines(span: Span) -> range:
    return range(span.start_line or 0, (span.end_line or 0) + 1)


def _files(spans: Sequence[Span]) -> list[Span]:
    return [Span(path) for path in dict.fromkeys(span.path for span in spans)]


def _ndcg(question: Question, spans: Iterable[Span]) -> float:
    return score(tuple(spans), question.relevant, question.secondary).ndcg_at_10


# --- the sets -------------------------------------------------------------------------------------


def _nameless(questions: Sequence[Question]) -> list[Question]:
    """Return the questions that are long enough to be questions and do not name their project."""
    return [
        question
        for question in questions
        if len(question.query.split()) >= _FEWEST_WORDS
        and not re.search(re.escape(_word(question.repository)), question.query, re.IGNORECASE)
    ]


def _word(repository: Repository) -> str:
    return re.sub(r"[-_.].*", "", repository.address.rpartition("/")[2])


def read_cited(file: Path) -> dict[str, list[Cited]]:
    """Return the questions of a file of cited lines, by repository."""
    cited: dict[str, list[Cited]] = defaultdict(list)
    for item in json.loads(file.read_text(encoding="utf-8")):
        lines = set()
        for place in item["lines"]:
            path, _, span = place.rpartition(":")
            first, _, last = span.partition("-")
            lines |= {(path.removeprefix("./"), line) for line in range(int(first), int(last or first) + 1)}
        cited[item["repo"]].append(Cited(item["q"], frozenset(lines)))
    return cited


# --- results --------------------------------------------------------------------------------------


def summary(compared: Sequence[Compared]) -> Figures:
    """Return, by wording and figure, the mean with the name, and its difference to that without it."""
    groups: dict[str, dict[str, list[Compared]]] = defaultdict(lambda: defaultdict(list))
    for each in compared:
        groups[each.wording][each.figure].append(each)
    return {
        wording: {figure: _summed_up(group) for figure, group in of_wording.items()}
        for wording, of_wording in groups.items()
    }


def _summed_up(group: Sequence[Compared]) -> Figures:
    halves: dict[str, list[float]] = defaultdict(list)
    for each in group:
        halves[half_of(each.repository.name)].append(each.named - each.without)
    changes = [change for of_half in halves.values() for change in of_half]
    return {
        "questions": len(group),
        "mean": round(mean(each.named for each in group), 4),
        "change": round(mean(changes), 4),
        "change_by_half_of_repositories": {half: round(mean(halves[half]), 4) for half in sorted(halves)},
        "better": sum(change > _SAME for change in changes),
        "worse": sum(change < -_SAME for change in changes),
    }


def table(figures: Figures) -> str:
    """Return the figures as a Markdown table."""
    columns = list(dict.fromkeys(figure for of_wording in figures.values() for figure in of_wording))
    lines = [f"| wording | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    lines += [
        f"| {wording} | {' | '.join(_cell(of_wording[figure]) for figure in columns)} |"
        for wording, of_wording in figures.items()
    ]
    return "\n".join(lines)


def _cell(figures: Figures) -> str:
    halves = ", ".join(f"{change:+.3f}" for change in figures["change_by_half_of_repositories"].values())
    return (
        f"{figures['mean']:.3f} ({figures['change']:+.3f}; halves {halves}; {figures['better']} better,"
        f" {figures['worse']} worse of {figures['questions']})"
    )


def main() -> None:
    options = _arguments()
    try:
        questions = _nameless(read_sets(options.sets, options.only))
        cited = read_cited(options.lines) if options.lines else {}
        repositories = dict.fromkeys(question.repository for question in questions)
        places = prepared(repositories, options.checkouts, options.data)
    except (SetError, CheckoutError) as problem:
        sys.exit(str(problem))
    host = Host(Settings().embedding)
    compared: list[Compared] = []
    with tempfile.TemporaryDirectory(prefix="cairn-names-") as settings:
        os.environ["CAIRN_CONFIG_DIR"] = settings  # The user's own settings must not change the results.
        for place in places:
            if not list(place.data.glob("workspaces/*")):
                with place.served():
                    pass
            own = [question for question in questions if question.repository == place.repository]
            with opened(place, host, {}) as request:
                lines = cited.get(place.repository.name, ())
                compared += compare(request, place.repository, own, lines)
            print(f"{place.repository.name}: {len(own)} questions", file=sys.stderr, flush=True)
    figures = summary(compared)
    print(table(figures))
    if options.output:
        record = {
            "conditions": {**run_conditions(), "commit": commit()},
            "repositories": {place.repository.name: place.repository.revision for place in places},
            "wordings": figures,
            "worse": [
                [each.repository.name, each.wording, each.figure, each.question, each.without, each.named]
                for each in compared
                if each.named < each.without - _SAME
            ],
        }
        options.output.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="folders of NAME.json")
    add_checkouts_option(parser)
    parser.add_argument("--data", type=Path, required=True, help="folder of the indexes")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="only these repositories")
    parser.add_argument("--lines", type=Path, metavar="FILE", help="also measure cited lines")
    parser.add_argument("--output", type=Path, help="write the figures here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
