"""Packs pairs into arrays of token ids, without near-duplicates, and makes the vocabulary.

    pack.py PAIRS DEST [--pieces 40000] [--per-repository 12000]

`collect.py` wrote PAIRS. DEST gets `vocabulary.txt`, `pairs.npz` and `counts.json`.
"""

from __future__ import annotations

import argparse
import array
import collections
import itertools
import json
import random
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field
from numpy.typing import NDArray
from sources import Source
from vocabulary import read_pieces, train_pieces

from cairn.embedding.static import BODY_TOKENS
from cairn.embedding.word_pieces import WordPieces

_SOURCES = list(Source)
_QUERY_TOKENS = 32
_MESSAGE_TOKENS = 160
_TEXT_TOKENS = 96
_VOCABULARY_OF_A_REPOSITORY = 4_000


@define
class _Rows:
    """Token ids of many texts, one after the other."""

    ids: array.array[int] = field(factory=lambda: array.array("H"))
    lengths: list[int] = field(factory=list)

    def add(self, ids: list[int]) -> None:
        self.ids.extend(ids)
        self.lengths.append(len(ids))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pairs", type=Path)
    parser.add_argument("dest", type=Path)
    parser.add_argument("--pieces", type=int, default=40_000)
    parser.add_argument("--per-repository", type=int, default=12_000)
    parser.add_argument(
        "--leave-out", type=Path, help="a list like held_back.tsv of repositories to leave out"
    )
    parser.add_argument("--vocabulary", type=Path, help="an existing vocabulary")
    options = parser.parse_args()
    options.dest.mkdir(parents=True, exist_ok=True)
    left_out = _excluded(options.leave_out) if options.leave_out else set()
    repositories = [p for p in sorted(options.pairs.glob("*.jsonl")) if p.stem.lower() not in left_out]
    if options.vocabulary:
        vocabulary = read_pieces(options.vocabulary)
    else:
        learnt = (_texts(_rows(path, _VOCABULARY_OF_A_REPOSITORY)) for path in repositories)
        vocabulary = train_pieces(itertools.chain.from_iterable(learnt), options.pieces)
    (options.dest / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    pieces = WordPieces(vocabulary)
    queries, texts, bodies = _Rows(), _Rows(), _Rows()
    origins: list[tuple[int, int]] = []
    places: list[int] = []
    for number, path in enumerate(repositories):
        for source, query, text, body, _, place in _rows(path, options.per_repository):
            query_pieces = pieces.ids(
                query, _MESSAGE_TOKENS if Source[source] is Source.MESSAGE else _QUERY_TOKENS
            )
            ids = pieces.ids(text, _TEXT_TOKENS)
            if len(query_pieces) < 2 or len(ids) < 4:
                continue
            queries.add(query_pieces)
            texts.add(ids)
            bodies.add(pieces.ids(body, BODY_TOKENS))
            origins.append((number, _SOURCES.index(Source[source])))
            # Places are numbered within a repository, since other repositories never meet it in a block. A
            # pair without a place gets its own number.
            places.append(zlib.crc32((place or str(len(places))).encode("utf-8", "replace")))
        print(path.stem, len(origins), flush=True)
    packed = _packed(queries, texts, bodies, origins, places)
    np.savez(options.dest / "pairs.npz", **packed)
    names = [p.stem.replace("+", "/", 1) for p in repositories]
    sources, origin = (collections.Counter(packed[of].tolist()) for of in ("source", "repository"))
    counts = {
        "pairs": len(packed["source"]),
        "before near-duplicates were removed": len(origins),
        "by source": {_SOURCES[number]: sources[number] for number in sorted(sources)},
        "by repository": {names[number]: origin[number] for number in sorted(origin)},
    }
    (options.dest / "counts.json").write_text(json.dumps(counts, indent=1) + "\n")
    return 0


def _excluded(path: Path) -> set[str]:
    """Return the repositories of a list's third column (addresses), named like files of pairs, in lower
    case."""
    lines = filter(str.strip, path.read_text(encoding="utf-8").splitlines())
    addresses = (line.split("\t")[2].removesuffix(".git") for line in lines)
    return {"+".join(address.split("/")[-2:]).lower() for address in addresses}


def _rows(path: Path, most: int) -> list[list[str]]:
    """Return at most `most` pairs of a repository, chosen at random but always the same."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
    if len(lines) > most:
        lines = random.Random(path.stem).sample(lines, most)
    return [json.loads(line) for line in lines]


def _texts(rows: Iterable[list[str]]) -> Iterator[str]:
    for _, query, text, body, *_ in rows:
        yield query
        yield text
        yield body


def _packed(
    queries: _Rows, texts: _Rows, bodies: _Rows, origins: list[tuple[int, int]], places: list[int]
) -> dict[str, Any]:
    """Return the arrays of all pairs whose question and answer are not near-copies of an earlier pair's.

    `origins` are the numbers of each pair's repository and source, `places` those of its definition or
    section.
    """
    query_lengths, text_lengths, below = (np.array(rows.lengths) for rows in (queries, texts, bodies))
    query_ids, ids, body_ids = (np.frombuffer(rows.ids, np.uint16) for rows in (queries, texts, bodies))
    where = np.array(origins, np.int32)
    query_sketch, sketch = _sketches(query_ids, query_lengths), _sketches(ids, text_lengths)
    first_of_text: dict[int, int] = {}
    seen: set[tuple[int, int]] = set()
    is_kept = np.zeros(len(where), bool)
    rows = zip(query_sketch.tolist(), sketch.tolist(), where[:, 0].tolist(), strict=True)
    for row, (one, two, repository) in enumerate(rows):
        # The same text in another repository is a copied file.
        if first_of_text.setdefault(two, repository) == repository and (one, two) not in seen:
            seen.add((one, two))
            is_kept[row] = True
    return {
        "query_ids": _only(query_ids, query_lengths, is_kept),
        "query_lengths": query_lengths[is_kept].astype(np.uint8),
        "ids": _only(ids, text_lengths, is_kept),
        "lengths": text_lengths[is_kept].astype(np.uint8),
        "body_ids": _only(body_ids, below, is_kept),
        "body_lengths": below[is_kept].astype(np.uint8),
        "query_sketch": query_sketch[is_kept],
        "sketch": sketch[is_kept],
        "place": np.array(places, np.uint32)[is_kept],
        "repository": where[is_kept, 0].astype(np.int16),
        "source": where[is_kept, 1].astype(np.uint8),
    }


def _only(
    values: NDArray[np.uint16], lengths: NDArray[np.int_], is_kept: NDArray[np.bool_]
) -> NDArray[np.uint16]:
    """Return the ids of the kept rows."""
    return values[np.repeat(is_kept, lengths)]


def _sketches(ids: NDArray[np.uint16], lengths: NDArray[np.int_]) -> NDArray[np.uint64]:
    """Return uint64[texts], equal for texts with nearly the same runs of three tokens: three combined minima
    of hashes."""
    wide = ids.astype(np.uint64)
    runs = wide.copy()
    runs[:-1] |= wide[1:] << np.uint64(16)
    runs[:-2] |= wide[2:] << np.uint64(32)
    starts = np.cumsum(lengths) - lengths
    # Runs that reach into the next text would include its beginning, so they are cut off.
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
