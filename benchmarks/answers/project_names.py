#!/usr/bin/env python3
"""Measure whether answers get worse if a question names the project that the workspace contains.

    python benchmarks/answers/project_names.py --sets DIR [DIR ...] --checkouts DIR [DIR ...] --data DIR
      [--lines FILE] [--output FILE]

Each question of the sets (of `benchmarks/retrieval`) that does not name its project is asked as it is, and
once in each of `WORDINGS`, which put the name of the repository in. Cairn answers in this process
(`in_process.py`), over indexes of whole checkouts that the daemon makes if they are missing. `--lines` names
a file with the lines that experts cite: `[{repo, q, lines: ["path:first-last"]}]`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from attrs import evolve, frozen
from engine.figures import Figures, run_conditions
from retrieval.checkouts import CheckoutError, add_checkouts_option
from retrieval.metrics import DEPTH, Span, score
from retrieval.results import commit
from retrieval.sets import Question, Repository, SetError, read_sets

from answers.asking import Request
from answers.in_process import opened
from answers.workplaces import prepared
from cairn.engine.host import Host
from cairn.settings.layers import CHARACTERS
from cairn.settings.tree import Settings

PLAIN = "without the name"
_ASKS = re.compile(r"(?:how|what|why|where|which|when|who|is|are|does|do|can|should)\b", re.IGNORECASE)
_IS_SHORT = 3
"""How many words a query needs to be a question. With the name, a query of one or two means a definition."""


def _lowered(text: str) -> str:
    return text if text[:2].isupper() else text[:1].lower() + text[1:]


def _does(name: str, text: str) -> str:
    asked = _ASKS.match(text)
    return f"{text.rstrip('?')} with {name}?" if asked else f"how does {name} {_lowered(text)}"


WORDINGS: Mapping[str, Callable[[str, str], str]] = {
    PLAIN: lambda _, text: text,
    "in NAME, …": lambda name, text: f"in {name}, {_lowered(text)}",
    "… in NAME": lambda name, text: f"{text.rstrip('?.')} in {name}",
    "how does NAME …": _does,
    "NAME …": lambda name, text: f"{name} {_lowered(text)}",
    "NAME's …": lambda name, text: f"{name}'s {_lowered(text)}",
}
"""The ways to put the name of a project into a question."""


@frozen
class Cited:
    """A question with the lines that an expert's answer cites."""

    text: str
    lines: frozenset[tuple[str, int]]


@frozen
class Scored:
    """The figures of one question in one wording."""

    question: str
    repository: Repository
    half: str
    search: float | None = None
    """NDCG@10 of the results of `cairn/search`."""
    discover: float | None = None
    """NDCG@10 of the files of the excerpts of `cairn/discover`, in their order."""
    shown: float | None = None
    """The share of the cited lines within the excerpts of `cairn/discover`."""


def ask(
    request: Request, questions: Sequence[Question], cited: Sequence[Cited], repository: Repository
) -> Iterator[tuple[str, Scored]]:
    """Yield the figures of each question with the name of each wording."""
    name = repository.address.rpartition("/")[2].removesuffix(".git")
    half = questions[0].half_of_repositories
    for wording, put in WORDINGS.items():
        for question in questions:
            scored = Scored(question.query, repository, half)
            text = put(name, question.query)
            results = request("cairn/search", {"query": text, "limit": DEPTH, "context": 0})["results"]
            yield (
                wording,
                evolve(
                    scored,
                    search=_ndcg(question, [_span(each) for each in results]),
                    discover=_ndcg(question, _files(_discover(request, text))),
                ),
            )
        for each in cited:
            shown = _discover(request, put(name, each.text))
            lines = {(span.path, line) for span in shown for line in _lines(span)}
            yield (
                wording,
                Scored(each.text, repository, half, shown=len(each.lines & lines) / len(each.lines)),
            )


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


def _ndcg(question: Question, spans: Sequence[Span]) -> float:
    return score(spans, question.relevant, question.secondary).ndcg_at_10


# --- the sets -------------------------------------------------------------------------------------


def _nameless(questions: Sequence[Question]) -> list[Question]:
    """Return the questions that are long enough to be questions and do not name their project."""
    return [
        question
        for question in questions
        if len(question.query.split()) >= _IS_SHORT
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


def summary(found: Mapping[str, Sequence[Scored]]) -> Figures:
    """Return the mean figures of each wording, with their differences to the question without the name."""
    plain = found[PLAIN]
    return {wording: _means(scored, plain) for wording, scored in found.items()}


def _means(scored: Sequence[Scored], plain: Sequence[Scored]) -> Figures:
    figures: Figures = {}
    for figure in ("search", "discover", "shown"):
        pairs = [
            (getattr(each, figure), getattr(before, figure), each.half)
            for each, before in zip(scored, plain, strict=True)
            if getattr(each, figure) is not None
        ]
        if pairs:
            figures[figure] = {
                "questions": len(pairs),
                "mean": round(mean(now for now, _, _ in pairs), 4),
                "change": round(mean(now - before for now, before, _ in pairs), 4),
                "change_by_half": {
                    half: round(mean(now - before for now, before, of in pairs if of == half), 4)
                    for half in sorted({of for _, _, of in pairs})
                },
                "better": sum(now > before + 1e-9 for now, before, _ in pairs),
                "worse": sum(now < before - 1e-9 for now, before, _ in pairs),
            }
    return figures


def table(figures: Figures) -> str:
    """Return the figures as a Markdown table."""
    names = ("search", "discover", "shown")
    lines = ["| wording | search NDCG@10 | discover NDCG@10 | cited lines shown |", "|---|---|---|---|"]
    for wording, of_wording in figures.items():
        cells = [
            f"{each['mean']:.3f} ({each['change']:+.3f}; {', '.join(f'{v:+.3f}' for v in each['change_by_half'].values())};"
            f" {each['better']} better, {each['worse']} worse)"
            for name in names
            if (each := of_wording.get(name))
        ]
        lines.append(f"| {wording} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    options = _arguments()
    try:
        questions = _nameless(read_sets(options.sets, options.only))
        cited = read_cited(options.lines) if options.lines else {}
        by_name = {question.repository.name: question.repository for question in questions}
        places = prepared(by_name.values(), options.checkouts, options.data)
    except (SetError, CheckoutError) as problem:
        sys.exit(str(problem))
    host = Host(Settings().embedding)
    found: dict[str, list[Scored]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="cairn-names-") as settings:
        os.environ["CAIRN_CONFIG_DIR"] = settings  # The user's own settings must not change the results.
        for place in places:
            own = [question for question in questions if question.repository.name == place.repository.name]
            if not list(place.data.glob("workspaces/*")):
                with place.served():
                    pass
            with opened(place, host, {}) as request:
                for wording, scored in ask(request, own, cited.get(place.repository.name, ()), place.repository):
                    found[wording].append(scored)
            print(f"{place.repository.name}: {len(own)} questions", file=sys.stderr, flush=True)
    figures = summary(found)
    print(table(figures))
    if options.output:
        record = {
            "conditions": {**run_conditions(), "commit": commit()},
            "repositories": {place.repository.name: place.repository.revision for place in places},
            "wordings": figures,
        }
        options.output.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if options.each:
        _write_each(options.each, found)


def _write_each(file: Path, found: Mapping[str, Sequence[Scored]]) -> None:
    with file.open("w", encoding="utf-8") as lines:
        for wording, scored in found.items():
            for each in scored:
                row = (wording, each.repository.name, each.search, each.discover, each.shown, each.question)
                print(*row, sep="\t", file=lines)


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
    parser.add_argument("--each", type=Path, metavar="FILE", help="write a line for each question here")
    return parser.parse_args()


if __name__ == "__main__":
    main()
