"""Packs pairs into arrays of token ids, without near-duplicates, and makes the vocabulary.

    pack.py PAIRS DEST [--pieces 32000] [--per-repository 20000]

PAIRS is what `collect.py` wrote. DEST gets `vocabulary.txt`, `pairs.npz` and `counts.json`.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import random
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from attrs import define, field
from numpy.typing import NDArray

from cairn.chunking.identifiers import identifier_words
from fields import Field, fields_of
from sources import Source
from vocabulary import WordPieces, train_pieces

_QUERY_TOKENS = 32
_TEXT_TOKENS = 96
_VOCABULARY_TEXTS = 400_000


@define
class _Rows:
    """Token ids of many texts, one after the other."""

    ids: list[int] = field(factory=list)
    fields: list[int] = field(factory=list)
    lengths: list[int] = field(factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("dest", type=Path)
    parser.add_argument("--pieces", type=int, default=32_000)
    parser.add_argument("--per-repository", type=int, default=20_000)
    parser.add_argument("--leave-out", type=Path, help="a list as of held_back.py: repositories that are not packed")
    parser.add_argument("--vocabulary", type=Path, help="one that is there already")
    options = parser.parse_args()
    options.dest.mkdir(parents=True, exist_ok=True)
    left_out = _held_back(options.leave_out) if options.leave_out else set()
    repositories = [p for p in sorted(options.pairs.glob("*.jsonl")) if p.stem.lower() not in left_out]
    if options.vocabulary:
        pieces = WordPieces(options.vocabulary.read_text(encoding="utf-8").splitlines())
    else:
        texts = itertools.chain.from_iterable(_texts(_rows(p, 4_000)) for p in repositories)
        pieces = train_pieces(itertools.islice(texts, _VOCABULARY_TEXTS * 4), options.pieces)
    (options.dest / "vocabulary.txt").write_text("\n".join(pieces.pieces) + "\n", encoding="utf-8")
    queries, answers = _Rows(), _Rows()
    places: list[tuple[int, int, int]] = []
    for number, path in enumerate(repositories):
        files: dict[str, int] = {}
        for source, query, text, file in _rows(path, options.per_repository):
            asked = pieces.ids(query, _QUERY_TOKENS)
            ids: list[int] = []
            kinds: list[int] = []
            for kind, part in fields_of(text):
                found = pieces.ids(part, _TEXT_TOKENS - len(ids))
                ids += found
                kinds += [kind] * len(found)
            if len(asked) < 2 or len(ids) < 4:
                continue
            queries.ids += asked
            queries.lengths.append(len(asked))
            answers.ids += ids
            answers.fields += kinds
            answers.lengths.append(len(ids))
            places.append((number, list(Source).index(Source[source]), files.setdefault(file, len(files))))
        print(path.stem, len(places), flush=True)
    packed = _packed(queries, answers, places)
    np.savez(options.dest / "pairs.npz", **packed)
    names = [p.stem.replace("+", "/", 1) for p in repositories]
    sources = collections.Counter(packed["source"].tolist())
    counts = {
        "pairs": len(packed["source"]),
        "before near-duplicates were removed": len(places),
        "by source": {str(list(Source)[n]): sources[n] for n in sorted(sources)},
        "by repository": {names[n]: c for n, c in sorted(collections.Counter(packed["repository"].tolist()).items())},
    }
    (options.dest / "counts.json").write_text(json.dumps(counts, indent=1) + "\n")
    return 0


def _held_back(path: Path) -> set[str]:
    lines = path.read_text().splitlines()
    return {"+".join(line.split("\t")[2].removesuffix(".git").split("/")[-2:]).lower() for line in lines if line.strip()}


def _rows(path: Path, most: int) -> list[list[str]]:
    """At most `most` pairs of a repository, chosen by chance but always the same."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    if len(lines) > most:
        lines = random.Random(path.stem).sample(lines, most)
    return [json.loads(line) for line in lines]


def _texts(rows: Iterable[list[str]]) -> Iterator[str]:
    for _, query, text, _ in rows:
        yield query
        yield text


def _packed(queries: _Rows, answers: _Rows, places: list[tuple[int, int, int]]) -> dict[str, NDArray[np.generic]]:
    """The arrays of all pairs whose question and answer are no near-copies of an earlier pair's."""
    asked, answered = np.array(queries.lengths), np.array(answers.lengths)
    query_ids, ids = np.array(queries.ids, np.uint16), np.array(answers.ids, np.uint16)
    where = np.array(places, np.int32)
    query_sketch, sketch = _sketches(query_ids, asked), _sketches(ids, answered)
    first_of_text: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    kept = np.zeros(len(where), bool)
    for row, (one, two, repository) in enumerate(zip(query_sketch.tolist(), sketch.tolist(), where[:, 0].tolist(), strict=True)):
        # The same text in another repository is a copy of somebody's code.
        if first_of_text.setdefault(two, repository) == repository and (one, two) not in seen:
            seen.add((one, two))
            kept[row] = True
    return {
        "query_ids": _only(query_ids, asked, kept),
        "query_lengths": asked[kept].astype(np.uint8),
        "ids": _only(ids, answered, kept),
        "fields": _only(np.array(answers.fields, np.uint8), answered, kept),
        "lengths": answered[kept].astype(np.uint8),
        "sketch": sketch[kept],
        "repository": where[kept, 0].astype(np.int16),
        "source": where[kept, 1].astype(np.uint8),
        "place": where[kept, 2],
    }


def _only(values: NDArray[np.generic], lengths: NDArray[np.int_], kept: NDArray[np.bool_]) -> NDArray[np.generic]:
    return values[np.repeat(kept, lengths)]


def _sketches(ids: NDArray[np.uint16], lengths: NDArray[np.int_]) -> NDArray[np.uint64]:
    """uint64[texts]: texts of nearly the same three-token runs have the same (three minima of hashes, combined)."""
    wide = ids.astype(np.uint64)
    runs = wide.copy()
    runs[:-1] |= wide[1:] << np.uint64(16)
    runs[:-2] |= wide[2:] << np.uint64(32)
    starts = np.cumsum(lengths) - lengths
    # Runs that reach into the next text end with its beginning; cut to what is the text's own.
    for back, mask in ((1, 0xFFFF), (2, 0xFFFFFFFF)):
        ends = starts + lengths - back
        runs[ends[lengths >= back]] &= np.uint64(mask)
    combined = np.zeros(len(lengths), np.uint64)
    for factor in (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9):
        mixed = (runs ^ (runs >> np.uint64(29))) * np.uint64(factor)
        mixed ^= mixed >> np.uint64(32)
        combined = combined * np.uint64(0x100000001B3) ^ np.minimum.reduceat(mixed, starts)
    return combined


if __name__ == "__main__":
    sys.exit(main())
