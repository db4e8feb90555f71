"""Find files that are copies of others: snapshots, vendored copies, and files made of others (bundles).

Only their lines are compared. Two equal files do not show which is the copy. It is the one that fewer files
import, or that is in a deeper folder or an older version's folder. A file made of others is a copy of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from cairn.languages.registry import PROSE_LANGUAGES, detect_language
from cairn.workspace.collections import FileKind, file_kind

Ints = NDArray[np.int64]
Numbers = NDArray[np.int32]

_FEWEST_LINES = 8
"""The minimum number of sampled lines for a meaningful share; a text of some 30 lines has as many."""
_FEWEST_BYTES = 200
_OF_ONE = 0.75
"""If one other file contains this share of a file's lines, the file is a copy of it."""
_OF_A_PART, _PART_OF_WHOLE, _FEWEST_PARTS, _OF_PARTS = 0.7, 0.6, 3, 0.5
"""Four conditions for a file that is made of others: the share of each part's lines that it contains, the
maximum size of a part relative to it, the minimum number of parts, and the share of its lines in parts."""
_MOST_PARTS = 500
"""The maximum number of parts that are compared; the largest are."""
_FEW_OWNERS = 10
"""All pairs of files with a line in common count if at most this many files have the line. Otherwise only
pairs with the likeliest original count."""
_COMMON = 1_000
"""A line that more files have, such as a licence's, is ignored."""
_KINDS = (FileKind.SOURCE, FileKind.CONFIG, FileKind.DOCS, FileKind.TESTS, FileKind.EXAMPLES)
_ASIDE = re.compile(
    r"(?:^|/)(?:vendor(?:ed)?|third[_-]?party|external|extern|deps|dist|build|out|static|single_include|"
    r"amalgamated?|snapshots?|fixtures?|backup|old|archive|deprecated|legacy)/",
    re.IGNORECASE,
)
"""Folders that usually contain copies. They only decide between two equal files."""


@frozen
class Sketched:
    """The features of a file that are compared."""

    path: str
    size: int
    content_hash: bytes
    sketch: bytes
    in_degree: int = 0


@frozen
class Copy:
    path: str
    original: str
    share: float
    """The share of the copy's lines that its originals contain, 0 to 1."""


def find_copies(files: Sequence[Sketched]) -> list[Copy]:
    """Return the copies among the files, by path. Linux's four million sampled lines took 2 s and 150 MB."""
    files = sorted(files, key=_likely_copy)
    known = _Lines(files)
    composed = _made_of_others(files, known)
    best: dict[int, tuple[int, int]] = {}
    for (one, other), shared in known.shared.items():
        copy, original = (one, other) if (one in composed, one) > (other in composed, other) else (other, one)
        if known.every[copy] >= _FEWEST_LINES:
            best[copy] = max(best.get(copy, (0, 0)), (shared, original))
    copies = {each.path: each for each in _equal_files(files)}
    for copy, (shared, original) in best.items():
        share = composed.get(copy, 0.0) or shared / known.every[copy]
        if copy in composed or share >= _OF_ONE:
            path = files[copy].path
            copies[path] = Copy(path, files[original].path, min(1.0, share))
    return sorted(copies.values(), key=lambda copy: copy.path)


class _Lines:
    """The number of distinctive lines of each file, and the number that each pair of files has in common. The
    likeliest originals are sorted first."""

    def __init__(self, files: Sequence[Sketched]) -> None:
        owners, line = _sorted_lines(files)
        having = np.bincount(line)[line] if len(line) else line
        self.every = self._count(owners[having <= _COMMON], len(files))
        """For each file, the number of its lines that at most `_COMMON` files have."""
        self.rare = self._count(owners[having <= _FEW_OWNERS], len(files))
        """For each file, the number of its lines that at most `_FEW_OWNERS` files have."""
        rare = (having > 1) & (having <= _FEW_OWNERS)
        common = (having > _FEW_OWNERS) & (having <= _COMMON)
        of_rare = self._pairs(owners[rare], line[rare], len(files))
        of_common = self._pairs_with_first(owners[common], line[common], len(files))
        self.shared_rare = _counted(of_rare, len(files))
        """For each pair of files, the number of common lines that few files have, if above chance."""
        self.shared = _counted(np.concatenate([of_rare, of_common]), len(files))
        """The number of all common lines. Frequent ones count only with the likeliest original."""

    @staticmethod
    def _count(owners: Ints, files: int) -> list[int]:
        counts: list[int] = np.bincount(owners, minlength=files).tolist()
        return counts

    @staticmethod
    def _pairs(owners: Ints, line: Numbers, files: int) -> Ints:
        found = [owners[:0]]
        for apart in range(1, _FEW_OWNERS):
            same = line[apart:] == line[:-apart]
            found.append(owners[:-apart][same] * files + owners[apart:][same])
        return np.concatenate(found)

    @staticmethod
    def _pairs_with_first(owners: Ints, line: Numbers, files: int) -> Ints:
        _, begins, counts = np.unique(line, return_index=True, return_counts=True)
        first = np.repeat(owners[begins], counts)
        pairs: Ints = (first * files + owners)[first != owners]
        return pairs


def _sorted_lines(files: Sequence[Sketched]) -> tuple[Ints, Numbers]:
    """Return the owner, int64[n], and the number, int32[n], of each line, sorted by line, then by file."""
    sizes = [len(file.sketch) // 4 for file in files]
    hashes = np.frombuffer(b"".join(file.sketch for file in files), np.uint32).astype(np.uint64)
    keys = (hashes << np.uint64(32)) | np.repeat(np.arange(len(files), dtype=np.uint64), sizes)
    keys.sort()
    owners = (keys & np.uint64(0xFFFFFFFF)).astype(np.int64)
    hashes = keys >> np.uint64(32)
    line = np.zeros(len(keys), np.int32)
    np.cumsum(hashes[1:] != hashes[:-1], out=line[1:])
    return owners, line


def _counted(pairs: Ints, files: int) -> dict[tuple[int, int], int]:
    keys, counts = np.unique(pairs, return_counts=True)
    enough = counts >= _FEWEST_LINES // 2
    ones, others = np.divmod(keys[enough], max(files, 1))
    both = zip(ones.tolist(), others.tolist(), strict=True)
    return dict(zip(both, counts[enough].tolist(), strict=True))


def _made_of_others(files: Sequence[Sketched], known: _Lines) -> dict[int, float]:
    """Return the files that are made of others, with the share of their lines that the others contain."""
    lines = known.rare  # A licence is a large part of a small file.
    parts: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for (one, other), shared in known.shared_rare.items():
        whole, part = (one, other) if lines[one] > lines[other] else (other, one)
        is_small = _FEWEST_LINES <= lines[part] <= _PART_OF_WHOLE * lines[whole]
        if is_small and shared >= _OF_A_PART * lines[part]:
            parts[whole].append((shared, part))
    composed = {}
    for whole, found in parts.items():
        if len(found) < _FEWEST_PARTS or detect_language(files[whole].path) in PROSE_LANGUAGES:
            continue
        different = _different(found, known)
        share = min(1.0, sum(shared for shared, _ in different) / lines[whole])
        if len(different) >= _FEWEST_PARTS and share >= _OF_PARTS:
            composed[whole] = share
    return composed


def _different(parts: Sequence[tuple[int, int]], known: _Lines) -> list[tuple[int, int]]:
    """Return those parts that are not copies of each other: a file contains its own older versions."""
    kept: list[tuple[int, int]] = []
    both = known.shared_rare
    for shared, part in sorted(parts, reverse=True)[:_MOST_PARTS]:
        most = max((both.get((part, each), 0) + both.get((each, part), 0) for _, each in kept), default=0)
        if most < known.rare[part] / 2:
            kept.append((shared, part))
    return kept


def _equal_files(files: Sequence[Sketched]) -> list[Copy]:
    equal: defaultdict[bytes, list[str]] = defaultdict(list)
    for file in files:
        if file.size >= _FEWEST_BYTES:
            equal[file.content_hash].append(file.path)
    return [Copy(copy, original, 1.0) for original, *others in equal.values() for copy in others]


def _likely_copy(file: Sketched) -> tuple[int, bool, bool, int, list[float], int, str]:
    numbers = [-float(number) for number in re.findall(r"\d+", file.path)]
    return (
        _KINDS.index(file_kind(file.path)),
        bool(_ASIDE.search(file.path)),
        not file.in_degree,
        file.path.count("/"),
        numbers,
        len(file.path),
        file.path,
    )
