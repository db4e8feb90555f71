#!/usr/bin/env python3
"""Measure what the vectors of each model add to Cairn's own ranking, and what they find alone, on several
question sets.

    python benchmarks/models.py --set NAME=SETS,CHECKOUTS,MODE ... --data DIR [--table NAME=FOLDER ...]
      [--model FOLDER]

A set is a folder of questions, the folder of its checkouts, and the part to index, `folder` or `checkout`, as
in `benchmarks/retrieval`. The daemon makes indexes in `--data`, which are copied for each table: files are
read and cut once. Rows: no vectors; the table that comes with Cairn; each `--table`, a folder of the same
files; with `--model`, the model in ONNX in that folder.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from attrs import field, frozen
from engine.daemon import Daemon, all_files_indexed
from engine.figures import Figures, percentile, run_conditions
from engine.place import make_data_folder
from retrieval.asking import Answer
from retrieval.checkouts import checkout
from retrieval.in_process import OpenIndex, chunk_ids, copied_index, embedded, use_table
from retrieval.measurement import MODES, by_repository, workspace_of
from retrieval.results import commit
from retrieval.sets import Question, Repository, read_sets

from cairn.embedding.onnx_model import find_model, load_embedder
from cairn.embedding.packaged import load_packaged, packaged_model
from cairn.embedding.shared import TextEncoder
from cairn.embedding.static import StaticTable
from cairn.index.store.writer import IndexWriter
from cairn.index.vectors.vector_store import ChunkText, VectorStore
from cairn.retrieval.meaning import Meaning

WITHOUT = "no vectors"
_PATIENCE = 3600.0
_TIMED_BY_TABLE, _TIMED_BY_MODEL = 2_000, 256
"""The number of texts that are embedded to measure the speed."""


@frozen
class Set:
    """Questions, and the place of their repositories."""

    name: str
    questions: Path
    checkouts: Path
    mode: str


@frozen
class Row:
    """One source of vectors, over all sets."""

    name: str
    size: int
    """The bytes of its files."""
    ranked: dict[str, list[Answer]] = field(factory=lambda: defaultdict(list))
    """Cairn's answers, by set."""
    alone: dict[str, list[Answer]] = field(factory=lambda: defaultdict(list))
    """Files by their best chunk's cosine, by set."""
    rates: list[float] = field(factory=list)
    """The chunks embedded per second."""


def main() -> None:
    options = _arguments()
    table = load_packaged()
    sources = [_Source(name, folder, load_packaged(folder)) for name, folder in options.tables]
    if options.model:
        embedder = load_embedder(find_model(options.model))
        sources.append(_Source(embedder.model.name, options.model, embedder))
    rows = {WITHOUT: Row(WITHOUT, 0)} | {each.name: Row(each.name, _size(each.folder)) for each in sources}
    for each in options.sets:
        questions = [question for question in read_sets([each.questions]) if question.answerable]
        for repository, set_questions in by_repository(questions):
            print(
                f"{each.name}, {repository.name}: {len(set_questions)} questions", file=sys.stderr, flush=True
            )
            data = index_of(each, repository, options.data.resolve())
            _measure(data, each.name, set_questions, rows, sources, table)
        _write(options.output, rows, options.sets)
    print(_markdown(list(rows.values()), [each.name for each in options.sets]))


@frozen
class _Source:
    """A static table in a folder of the files that come with Cairn, or another model."""

    name: str
    folder: Path
    encoder: TextEncoder


def _measure(
    data: Path,
    name: str,
    set_questions: Sequence[Question],
    rows: dict[str, Row],
    sources: Sequence[_Source],
    table: StaticTable,
) -> None:
    """Let every row answer the questions of the set `name` about the repository whose index is in `data`."""
    with tempfile.TemporaryDirectory(prefix="cairn-models-") as temporary:
        folder = copied_index(data, Path(temporary))
        for number, source in enumerate(sources):
            use_table(folder, source.encoder)
            index = OpenIndex.at(folder)
            if number == 0:
                rows[WITHOUT].ranked[name] += _warm(index, set_questions, None)
            own = source.encoder if isinstance(source.encoder, StaticTable) else None
            _ask(rows[source.name], name, index, set_questions, Meaning(own or table, source.encoder))
            count = _TIMED_BY_TABLE if own else _TIMED_BY_MODEL
            _time(rows[source.name], folder, count, partial(embedded, source.encoder))


def index_of(each: Set, repository: Repository, data: Path) -> Path:
    """Return the data folder of a repository's index: all files, without vectors."""
    workspace, report = workspace_of(repository, checkout(repository, each.checkouts), each.mode, data)
    if not report.exists():
        make_data_folder(report)
    with Daemon(workspace, report, {"embedding": {"enabled": False}}) as daemon:
        daemon.wait_until(all_files_indexed, _PATIENCE)
    return report


def _ask(row: Row, name: str, index: OpenIndex, set_questions: Sequence[Question], meaning: Meaning) -> None:
    row.ranked[name] += _warm(index, set_questions, meaning)
    row.alone[name] += index.alone(set_questions, meaning)


def _warm(index: OpenIndex, set_questions: Sequence[Question], meaning: Meaning | None) -> list[Answer]:
    """Return the answers after a first round that fills the caches."""
    index.ranked(set_questions[:2], meaning)
    return index.ranked(set_questions, meaning)


def _time(row: Row, folder: Path, count: int, embed: Callable[[Sequence[ChunkText]], object]) -> None:
    """Measure once how many chunks one thread embeds in a second."""
    if row.rates:
        return
    writer = IndexWriter(folder)
    texts = VectorStore(writer.db).texts(chunk_ids(writer.db)[:count])
    writer.close()
    embed(texts[:64])
    began = time.perf_counter()
    embed(texts)
    row.rates.append(len(texts) / (time.perf_counter() - began))


# --- figures --------------------------------------------------------------------------------------


def difference(ones: Sequence[Answer], others: Sequence[Answer]) -> tuple[float, float]:
    """Return the mean NDCG@10 of `ones` less that of `others`, and the standard error of the difference."""
    pairs = zip(ones, others, strict=True)
    differences = [one.scores.ndcg_at_10 - other.scores.ndcg_at_10 for one, other in pairs]
    if len(differences) < 2:
        return statistics.fmean(differences), math.nan
    return statistics.fmean(differences), statistics.stdev(differences) / math.sqrt(len(differences))


def _figures(answers: Sequence[Answer], base: Sequence[Answer] | None) -> Figures:
    figures: Figures = {
        "questions": len(answers),
        "ndcg_at_10": _mean(answers, "ndcg_at_10"),
        "recall_at_10": _mean(answers, "recall_at_10"),
        "by_category": {
            kind: _mean([each for each in answers if each.question.category == kind], "ndcg_at_10")
            for kind in sorted({each.question.category for each in answers})
        },
        "ms": {"p50": round(percentile([each.ms for each in answers], 50), 1)},
    }
    if base is not None:
        mean, error = difference(answers, base)
        figures["difference"] = {"ndcg_at_10": round(mean, 4), "standard_error": round(error, 4)}
    return figures


def _mean(answers: Sequence[Answer], metric: str) -> float:
    return round(statistics.fmean(getattr(each.scores, metric) for each in answers), 4)


def _markdown(rows: Sequence[Row], sets: Sequence[str]) -> str:
    lines = []
    for name in sets:
        base = rows[0].ranked[name]
        if not base:
            continue
        lines += [f"\n{name}, {len(base)} questions\n"]
        lines += ["| | NDCG@10 | more than without | R@10 | alone | alone R@10 | MB | chunks/s | query ms |"]
        lines += ["|---|---|---|---|---|---|---|---|---|"]
        for row in rows:
            mean, error = difference(row.ranked[name], base)
            alone = row.alone[name]
            cells = (
                row.name,
                f"{_mean(row.ranked[name], 'ndcg_at_10'):.3f}",
                f"{mean:+.4f} ± {error:.4f}" if row is not rows[0] else "",
                f"{_mean(row.ranked[name], 'recall_at_10'):.3f}",
                f"{_mean(alone, 'ndcg_at_10'):.3f}" if alone else "",
                f"{_mean(alone, 'recall_at_10'):.3f}" if alone else "",
                f"{row.size / 1e6:.1f}",
                f"{row.rates[0]:,.0f}" if row.rates else "",
                f"{percentile([each.ms for each in row.ranked[name]], 50):.0f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _write(output: Path | None, rows: dict[str, Row], sets: Sequence[Set]) -> None:
    """Write the figures of the finished sets, and the tables beside them."""
    if output is None:
        return
    base = rows[WITHOUT]
    report: Figures = {
        "conditions": {**run_conditions(), "commit": commit()},
        "rows": {
            row.name: {
                "bytes": row.size,
                "chunks_per_second": round(row.rates[0]) if row.rates else None,
                "sets": {
                    name: {
                        "ranked": _figures(answers, None if row is base else base.ranked[name]),
                        "alone": _figures(row.alone[name], None) if row.alone[name] else None,
                    }
                    for name, answers in row.ranked.items()
                    if answers
                },
            }
            for row in rows.values()
        },
    }
    output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    tables = _markdown(list(rows.values()), [each.name for each in sets if base.ranked.get(each.name)])
    output.with_suffix(".md").write_text(f"{tables}\n", encoding="utf-8")


def _size(folder: Path) -> int:
    """Return the bytes of the files of a model."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def question_set(value: str) -> Set:
    name, _, rest = value.partition("=")
    questions, checkouts, mode = rest.split(",")
    if mode not in MODES:
        raise ValueError(f"{mode} is none of {', '.join(MODES)}")
    return Set(name, Path(questions), Path(checkouts), mode)


def _table(value: str) -> tuple[str, Path]:
    name, _, folder = value.partition("=")
    return name, Path(folder)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--set",
        dest="sets",
        type=question_set,
        action="append",
        required=True,
        metavar="NAME=SETS,CHECKOUTS,MODE",
    )
    parser.add_argument("--data", type=Path, required=True, help="keep the indexes here")
    parser.add_argument(
        "--table", dest="tables", type=_table, action="append", default=[], metavar="NAME=FOLDER"
    )
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="a model in ONNX, too")
    parser.add_argument("--output", type=Path, help="write JSON here, and the tables beside it")
    options = parser.parse_args()
    packaged = packaged_model()
    options.tables.insert(0, (packaged.name, packaged.folder))
    return options


if __name__ == "__main__":
    main()
