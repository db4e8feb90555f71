#!/usr/bin/env python3
"""Measure whether questions in other languages find the code that the same questions find in English.

    python benchmarks/languages.py --sets DIR ... --checkouts DIR --data DIR [--english DIR ...]
      [--output FILE]

In a set of `benchmarks/retrieval/sets/languages*`, each question is followed by itself in English, and its
category is its language. Whole checkouts are ranked in process, so that no deadline of a busy machine
matters. `--english` names folders of other sets. Their queries, and the identifiers of the checkouts as they
are and divided into words, must not be recognised as another language.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw
import models
from engine.figures import Figures, run_conditions
from retrieval.asking import Answer
from retrieval.in_process import OpenIndex, copied_index, use_table
from retrieval.measurement import CHECKOUT, by_repository
from retrieval.results import commit
from retrieval.sets import read_sets

from cairn.embedding.packaged import load_packaged
from cairn.index.store.database import DATABASE_NAME
from cairn.retrieval.meaning import Meaning
from cairn.retrieval.natural_languages.lexicon import lexicon
from cairn.retrieval.natural_languages.recognition import sentences
from cairn.text.identifiers import identifier_words

_WORDS_OF_QUERIES = (1, 2, 3)
"""The numbers of successive identifiers whose words make one query."""


def main() -> None:
    options = _arguments()
    report: Figures = {"conditions": {**run_conditions(), "commit": commit()}, "sets": {}}
    identifiers: list[str] = []
    table = load_packaged()
    for folder in options.sets:
        answers: list[Answer] = []
        for repository, questions in by_repository(read_sets([folder])):
            place = models.Set(folder.name, folder, options.checkouts, CHECKOUT)
            data = models.index_of(place, repository, options.data.resolve())
            with tempfile.TemporaryDirectory(prefix="cairn-languages-") as temporary:
                copy = copied_index(data, Path(temporary))
                use_table(copy, table)
                answers += OpenIndex.at(copy).ranked(questions, Meaning(table))
                identifiers += _identifiers(copy)
        report["sets"][folder.name] = _figures(answers)
    queries = [each.query for each in read_sets(options.english)] if options.english else []
    texts = dict.fromkeys((*queries, *identifiers, *_in_words(identifiers)))
    report["english"] = {"texts": len(texts), "recognised": [text for text in texts if sentences(text)[0]]}
    report["lists"] = {code: _reading(code) for code in ("de", "es", "fr", "ja", "pt", "ru", "zh")}
    print(json.dumps(report["sets"], indent=2))
    if options.output:
        options.output.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _figures(answers: Sequence[Answer]) -> Figures:
    """Return the figures of each language, and those of the same questions in English."""
    groups: dict[str, list[tuple[Answer, Answer]]] = defaultdict(list)
    for asked, english in zip(answers[::2], answers[1::2], strict=True):
        groups[asked.question.category].append((asked, english))
        groups["all"].append((asked, english))
    return {
        language: {
            "questions": len(pairs),
            **_means([asked for asked, _ in pairs]),
            "in_english": _means([english for _, english in pairs]),
        }
        for language, pairs in sorted(groups.items())
    }


def _means(answers: Sequence[Answer]) -> Figures:
    return {
        "ndcg_at_10": round(statistics.fmean(each.scores.ndcg_at_10 for each in answers), 3),
        "critical_in_top_3": round(statistics.fmean(each.scores.critical_at_3 for each in answers), 3),
    }


def _identifiers(folder: Path) -> list[str]:
    """Return the names that the chunks of an index define."""
    db = apsw.Connection(str(folder / DATABASE_NAME), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return [
            str(row[0])
            for row in db.execute("SELECT DISTINCT symbol FROM chunks WHERE symbol != '' ORDER BY 1")
        ]
    finally:
        db.close()


def _in_words(identifiers: Sequence[str]) -> Iterator[str]:
    for count in _WORDS_OF_QUERIES:
        for place in range(0, len(identifiers) - count, count):
            yield " ".join(
                word for each in identifiers[place : place + count] for word in identifier_words(each)
            )


def _reading(code: str) -> Figures:
    lexicon.cache_clear()
    began = time.process_time()
    lexicon(code)
    ms = (time.process_time() - began) * 1000
    lexicon.cache_clear()
    tracemalloc.start()
    lexicon(code)
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return {"ms": round(ms, 1), "mb": round(size / 1e6, 2)}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sets", type=Path, nargs="+", required=True, help="folders of questions and English ones"
    )
    parser.add_argument("--checkouts", type=Path, required=True, help="folder of the repositories")
    parser.add_argument("--data", type=Path, required=True, help="keep the indexes here for the next run")
    parser.add_argument("--english", type=Path, nargs="+", default=(), help="folders of sets in English")
    parser.add_argument("--output", type=Path, help="write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
