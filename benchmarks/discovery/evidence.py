#!/usr/bin/env python3
"""How well discovery tells what there is evidence for, by words alone and with vectors, and from which similarity on.

    python benchmarks/discovery/evidence.py --sets DIR --checkouts DIR --projects DIR --data DIR [--model] [--fit]

In process, over indexes that the daemon made in `--data`. Asked are the questions of the sets for verdicts about whole
checkouts, and those for discovery, each about its own project and about two others, which do not answer it. Compared are
the static vectors of the table that comes with Cairn (or of `--table`), with `--model` those of the installed model.
`--fit` chooses `minStaticSimilarity` and `sureStaticSimilarity`, with `--model` the two of the model.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

if __name__ == "__main__" and not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from attrs import evolve, frozen
from engine.daemon import Daemon, all_files_indexed
from engine.place import make_data_folder
from engine.ready import indexed
from retrieval.checkouts import checkout
from retrieval.in_process import copied_index, use_table
from retrieval.measurement import CHECKOUT, by_repository, workspace_of
from retrieval.sets import read_sets

from cairn.discovery import Discovery, ScoredChunk
from cairn.discovery.indexed_searcher import IndexedSearcher
from cairn.discovery.render import estimate_tokens
from cairn.embedding.packaged import FOLDER, load_packaged
from cairn.embedding.shared import SharedModel
from cairn.engine.discover import in_order
from cairn.engine.engine import Engine
from cairn.engine.open_workspace import OpenWorkspace
from cairn.index.overlay.overlaid_reader import OverlaidReader
from cairn.index.overlay.overlay import Overlay
from cairn.protocol import Verdict
from cairn.retrieval.meaning import Meaning, ModelMeaning, StaticMeaning
from cairn.retrieval.query import Query
from cairn.retrieval.scores import Ranked
from cairn.retrieval.verdict import Action, judge_evidence
from cairn.settings.tree import Settings, VerdictSettings
from discovery.projects import read_projects, tree_of

_PATIENCE = 3600.0
_QUESTIONS = Path(__file__).with_name("questions")
_TUNED, _HELD_OUT = "tuned", "held_out"
"""What is fitted on, and what it is only shown on."""
_OTHERS = (3, 6)
"""How far away in the list the projects are that a project's questions are put to: hardly about the same."""

_NEAR = [step / 100 for step in range(25, 56)]
_SURE = [step / 100 for step in range(40, 71, 2)]
MOST_DENIED = 0.02
"""Of the answerable questions, those that are told that nothing matches; by words alone 2 %. A denial leaves an agent with
nothing, where an answer too many shows it passages that it can judge."""


@frozen
class Place:
    """An index, and what is asked of it: the question's text, and whether it can be answered."""

    set: str
    data: Path
    questions: Sequence[tuple[str, bool]]


@frozen
class Thresholds:
    """From which similarity on a passage is near to a question, and surely so."""

    near: float
    sure: float


@frozen
class Judged:
    """What is said to one question."""

    set: str
    answerable: bool
    by_words: Action
    """Without vectors."""
    similarity: float | None
    far: Action
    """With a similarity below both thresholds…"""
    near: Action
    sure: Action

    def said(self, at: Thresholds | None) -> Action:
        """With these thresholds; with None, without vectors."""
        if at is None:
            return self.by_words
        if self.similarity is None or self.similarity < at.near:
            return self.far if self.similarity is None or self.similarity < at.sure else self.sure
        return self.sure if self.similarity >= at.sure else self.near


# --- what is asked ------------------------------------------------------------------------------------


def places(options: argparse.Namespace) -> Iterator[Place]:
    """Every index, made by the daemon where there is none."""
    for repository, asked in by_repository(read_sets(options.sets)):
        print(repository.name, file=sys.stderr, flush=True)
        tree, data = workspace_of(repository, checkout(repository, options.checkouts), CHECKOUT, options.data)
        _complete(tree, data, with_model=options.model)
        yield Place("verdict", data, [(each.query, each.answerable) for each in asked])
    every = [(name, each) for name in (_HELD_OUT, _TUNED) for each in read_projects(_QUESTIONS / name)]
    for number, (name, project) in enumerate(every):
        print(project.name, file=sys.stderr, flush=True)
        data = options.data / f"{project.name}-{project.version}"
        _complete(tree_of(project, options.projects), data, with_model=options.model)
        others = [every[(number + step) % len(every)][1] for step in _OTHERS]
        own = [(question.text, True) for question in project.questions]
        yield Place(name, data, [*own, *((q.text, False) for other in others for q in other.questions)])


def _complete(tree: Path, data: Path, *, with_model: bool) -> None:
    if with_model:
        with indexed(tree, data):
            return
    if not data.exists():
        make_data_folder(data)
    with Daemon(tree, data, {"embedding": {"enabled": False}}) as daemon:
        daemon.until(all_files_indexed, _PATIENCE)


# --- asking -------------------------------------------------------------------------------------------


def judge(place: Place, folder: Path, meaning: Meaning) -> list[Judged]:
    """Put the place's questions to the copy of its index in `folder`."""
    model = SharedModel(Settings().embedding)
    reader = OverlaidReader(folder, overlay=Overlay(folder, Settings, model))
    judged = []
    for text, answerable in place.questions:
        by_words = _found(text, reader, None)
        found = _found(text, reader, meaning)
        judged.append(
            Judged(
                set=place.set,
                answerable=answerable,
                by_words=by_words.said(2, 2),
                similarity=found.similarity,
                far=found.said(2, 2),
                near=found.said(0, 2),
                sure=found.said(0, 0),
            )
        )
    return judged


@frozen
class _Found:
    """What discovery judges."""

    query: Query
    ranked: Sequence[Ranked]
    shares: Sequence[float]
    similarity: float | None
    static: bool

    def said(self, near: float, sure: float) -> Action:
        settings = evolve(
            VerdictSettings(),
            min_similarity=near,
            sure_similarity=sure,
            min_static_similarity=near,
            sure_static_similarity=sure,
        )
        verdict = judge_evidence(
            self.query, self.ranked, settings, self.shares, self.similarity, static=self.static
        )
        return Action(verdict.action)


def _found(text: str, reader: OverlaidReader, meaning: Meaning | None) -> _Found:
    """As `cairn.engine.discover` has it."""
    settings = Settings()
    workspace = OpenWorkspace(Engine(), (), settings)
    workspace.readers, workspace.meaning = [reader], meaning
    query = workspace.understood(text)
    terms = workspace.terms(query)
    searcher = IndexedSearcher(
        [reader.folder.as_uri()], [reader], meaning, settings.search, lambda: False, {}
    )
    ranked: list[Ranked] = []

    def judge_nothing(chunks: Sequence[ScoredChunk]) -> Verdict:
        ranked.extend(in_order(chunks, searcher.found))
        return Verdict(Action.NO_MATCH, "", (), 0.0, ())

    Discovery(
        searcher=searcher,
        collections=workspace.collections(),
        query=query.text if query.terms else "",
        config=settings.discovery,
        count_tokens=estimate_tokens,
        terms=terms,
        judge=judge_nothing,
    ).run()
    return _Found(query, ranked, terms.shares, searcher.similarity, searcher.static)


# --- figures ------------------------------------------------------------------------------------------


@frozen
class Row:
    """Shares of some questions."""

    questions: int
    answered: float
    clarified: float
    denied: float


def row(judged: Sequence[Judged], at: Thresholds | None) -> Row:
    """What is said to them with the thresholds; with None, without vectors."""
    said = [each.said(at) for each in judged]
    count = len(said) or 1
    answered, clarified, denied = (
        said.count(action) / count for action in (Action.ANSWER, Action.CLARIFY, Action.NO_MATCH)
    )
    return Row(len(said), answered, clarified, denied)


def fit(judged: Sequence[Judged]) -> Thresholds:
    """Of the thresholds that deny few answerable questions, those that tell the most others; then answer the most.

    Where all deny more, those that deny the fewest.
    """
    answerable, others = split(judged)

    def worth(at: Thresholds) -> tuple[float, float, float]:
        able, unable = row(answerable, at), row(others, at)
        return -max(able.denied, MOST_DENIED), unable.denied - unable.answered, able.answered

    every = (Thresholds(*pair) for pair in itertools.product(_NEAR, _SURE) if pair[0] <= pair[1])
    return max(every, key=worth)


def split(judged: Iterable[Judged]) -> tuple[list[Judged], list[Judged]]:
    """The answerable ones and the others."""
    kept = list(judged)
    return [each for each in kept if each.answerable], [each for each in kept if not each.answerable]


def table(judged: Sequence[Judged], at: Thresholds | None, title: str) -> str:
    """A Markdown table by set."""
    lines = [f"{title}\n", "| questions | | answer | clarify | noMatch |", "|---|---|---|---|---|"]
    for name in dict.fromkeys(each.set for each in judged):
        groups = split(each for each in judged if each.set == name)
        for kind, group in zip(("answerable", "others"), groups, strict=True):
            said = row(group, at)
            lines.append(
                f"| {name}, {kind} | {said.questions}"
                f" | {said.answered:.0%} | {said.clarified:.0%} | {said.denied:.0%} |"
            )
    return "\n".join(lines) + "\n"


# --- the command --------------------------------------------------------------------------------------


def main() -> None:
    options = _arguments()
    static = load_packaged(options.table)
    embedder = SharedModel(Settings().embedding).embedder() if options.model else None
    meaning = ModelMeaning(embedder, static) if embedder else StaticMeaning(static)
    judged: list[Judged] = []
    for place in places(options):
        with tempfile.TemporaryDirectory(prefix="cairn-evidence-") as temporary:
            folder = copied_index(place.data, Path(temporary))
            use_table(folder, static)
            judged += judge(place, folder, meaning)
    settings = VerdictSettings()
    shipped = (
        Thresholds(settings.min_similarity, settings.sure_similarity)
        if embedder
        else Thresholds(settings.min_static_similarity, settings.sure_static_similarity)
    )
    print(table(judged, None, "By words alone"))
    print(table(judged, shipped, f"With vectors: near from {shipped.near:.2f}, sure from {shipped.sure:.2f}"))
    if options.fit:
        best = fit([each for each in judged if each.set != _HELD_OUT])
        title = f"Fitted on all but {_HELD_OUT}: near from {best.near:.2f}, sure from {best.sure:.2f}"
        print(table(judged, best, title))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=Path, nargs="+", required=True, help="question sets for verdicts")
    parser.add_argument("--checkouts", type=Path, required=True, help="where the repositories are, or go")
    parser.add_argument("--projects", type=Path, required=True, help="where the projects are, or go")
    parser.add_argument("--data", type=Path, required=True, help="keep the indexes here")
    parser.add_argument("--table", type=Path, default=FOLDER, help="a folder with another static table")
    parser.add_argument("--model", action="store_true", help="compare by the installed model's vectors")
    parser.add_argument("--fit", action="store_true", help="choose thresholds")
    options = parser.parse_args()
    options.data = options.data.resolve()
    return options


if __name__ == "__main__":
    main()
