"""Finds whole files: by words of their paths, by the subjects of their commits, by a chunk, or as READMEs.

It also reads the git history of one file, as far as the index keeps it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import translate
from heapq import nsmallest
from typing import Any

from attrs import evolve, frozen

from cairn.chunking.model import content_key
from cairn.index.reader.filters import ChunkFilter, admitted_files, files_named
from cairn.index.reader.index_reader import IndexReader
from cairn.index.reader.records import CollectionStats
from cairn.index.store.meta import SELECT_LEFT_OUT
from cairn.index.store.rows import unpacked_commits, unpacked_touches
from cairn.workspace.builtin_rules import LEFT_OUT_BY_CONTENT
from cairn.workspace.git_log import Commit


@frozen
class FileFacts:
    kind: str
    collection: str
    size: int


def file_facts(reader: IndexReader, path: str) -> FileFacts | None:
    rows = reader.select_all("SELECT kind, collection, size FROM files WHERE path = ?", (path,))
    return FileFacts(*rows[-1]) if rows else None


def hash_of_text(reader: IndexReader, path: str) -> str:
    """Return the content hash of the text that the index has of a file; "" if it has none."""
    rows = reader.select("SELECT lower(hex(content_hash)) FROM files WHERE path = ? AND is_text", (path,))
    return str(rows[0][0]) if rows else ""


def text_files(reader: IndexReader, only: ChunkFilter) -> list[str]:
    """Return the files with indexed text, also unsaved ones, in the places and collections of the filter. Its
    other conditions are ignored."""
    places, found = (
        ChunkFilter(paths=only.paths, folders=only.folders, collections=only.collections),
        set[str](),
    )
    for source in reader.sources:
        admitted = admitted_files(source, places)
        assert admitted is not None  # Only types and languages admit some chunks of a file.
        sql, values = admitted
        rows = source.select(f"SELECT path FROM files WHERE is_text AND id IN ({sql})", values)
        found.update(path for (path,) in rows)
    return sorted(found)


def binary_files(reader: IndexReader) -> list[str]:
    """Return the paths of the files whose content is binary, so that only their names are indexed."""
    sql = "SELECT path FROM files WHERE NOT is_text AND content_hash = ? ORDER BY path"
    return [path for (path,) in reader.select(sql, (bytes.fromhex(content_key("")),))]


def left_out_counts(reader: IndexReader) -> dict[str, int]:
    """Return how many files and directories of the folder have no indexed text, by rule. For files whose
    content excludes them, the index has no rule."""
    stored = reader.select(SELECT_LEFT_OUT)
    counts = dict(json.loads(stored[0][0])) if stored else {}
    ((by_content,),) = reader.select("SELECT count(*) FROM files WHERE NOT is_text")
    counts[LEFT_OUT_BY_CONTENT] = by_content
    return {rule: count for rule, count in counts.items() if count}


def files_by_path(reader: IndexReader, match: str, limit: int) -> list[str]:
    """Return paths that match the FTS5 expression `match`, best first. Paths of unsaved files come last."""
    sql = """SELECT f.path FROM paths_fts CROSS JOIN files f ON f.id = paths_fts.rowid
        WHERE paths_fts MATCH ? AND f.is_text ORDER BY bm25(paths_fts, 2.5, 1), f.id LIMIT ?"""
    return _paths(reader, sql, (match, limit)) if match else []


def introducing_files(reader: IndexReader, manifests: Sequence[str], limit: int) -> list[str]:
    """Return up to `limit` READMEs, nearest to the top folder first, and up to `limit` of `manifests`."""
    readmes = """SELECT f.path FROM paths_fts CROSS JOIN files f ON f.id = paths_fts.rowid
        WHERE paths_fts MATCH 'readme' AND f.is_text
        ORDER BY length(f.path) - length(replace(f.path, '/', '')), f.path LIMIT ?"""
    named = "SELECT path FROM files WHERE path IN (SELECT value FROM json_each(?)) AND is_text LIMIT ?"
    found = _paths(reader, readmes, (limit,))
    return [*found, *_paths(reader, named, (json.dumps(manifests), limit))]


def files_at(reader: IndexReader, fragments: Sequence[str], limit: int) -> list[str]:
    """Return paths that end with a fragment, lie in a folder that a fragment names, or are the end of a
    fragment. Fragments match both literally, since `[slug].tsx` is a file name, and as globs."""
    # `f.path` is qualified because json_each also has a column `path`.
    sql = """SELECT f.path FROM files f WHERE f.is_text AND EXISTS (SELECT 1 FROM json_each(?1) named
            WHERE instr('/' || f.path || '/', '/' || named.value || '/')
               OR '/' || f.path || '/' GLOB '*/' || named.value || '/*'
               OR substr('/' || named.value, -length(f.path) - 1) = '/' || f.path)
        ORDER BY length(f.path), f.path LIMIT ?2"""
    wanted = json.dumps([place for fragment in fragments if (place := fragment.strip("/"))])
    found = _paths(reader, sql, (wanted, limit)) if fragments else []
    return sorted(found, key=lambda path: (len(path), path))[:limit]


def files_holding(reader: IndexReader, text: str, *, ignore_case: bool) -> list[str]:
    """Return the paths that contain the text. Only the case of the letters A to Z can be ignored."""
    holds = "instr(lower(path), lower(?))" if ignore_case else "instr(path, ?)"
    return _paths(reader, f"SELECT path FROM files WHERE is_text AND {holds}", (text,))


def files_called(reader: IndexReader, stems: Collection[str]) -> list[str]:
    """Return the files whose name up to its first dot is in `stems`. This takes 37 ms for 15,000 files."""
    paths = _paths(reader, "SELECT path FROM files WHERE is_text", ()) if stems else []
    return sorted(path for path in paths if file_stem(path) in stems)


def shortest_ends(readers: Sequence[IndexReader], paths: Collection[str]) -> dict[str, str]:
    """Return the shortest end of each path, in whole names, that is the end of no other file's path. Paths of
    several folders may be equal. This takes 2 ms for 1,800 files."""
    wanted = {path.rpartition("/")[2] for path in paths}
    alike = Counter[str]()
    for reader in readers if paths else ():
        for path in _paths(reader, "SELECT path FROM files WHERE is_text", ()):
            if path.rpartition("/")[2] in wanted:
                alike.update(_ends(path))
    return {path: next((end for end in _ends(path) if alike[end] <= 1), path) for path in paths}


def _ends(path: str) -> Iterator[str]:
    """Yield the ends of a path, the file's name first."""
    at = len(path)
    while at > 0:
        at = path.rfind("/", 0, at)
        yield path[at + 1 :]


def file_stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def has_below(reader: IndexReader, path: str) -> bool:
    """Whether the index has the file at `path`, or any file in a folder at that path."""
    sql = "SELECT 1 FROM files WHERE path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0') LIMIT 1"
    return bool(reader.select_all(sql, (path,)))


def names_in(reader: IndexReader, folder: str) -> list[str]:
    """Return the names directly in a folder ("" for the top folder). Names of folders end with `/`."""
    sql = """SELECT DISTINCT substr(path, ?2, instr(substr(path, ?2) || '/', '/')) FROM files
        WHERE ?1 = '' OR (path > ?1 || '/' AND path < ?1 || '0')"""
    begin = len(folder) + 2 if folder else 1
    return sorted({name for (name,) in reader.select_all(sql, (folder, begin))})


def collections_within(reader: IndexReader, places: ChunkFilter) -> Sequence[CollectionStats]:
    """Return the collections that have chunks in the filter's paths, each with its number of chunks there."""
    patterns, every = places.paths_in(reader.root), reader.stats().collections
    if patterns is None:
        return every
    counts: Counter[str] = Counter()
    sql = """SELECT collection, sum(chunks) FROM files WHERE id IN (SELECT value FROM json_each(?))
        GROUP BY collection HAVING sum(chunks)"""
    for source in reader.sources:
        counts.update(dict(source.select(sql, (files_named(source, patterns),))))
    return [evolve(stats, chunks=counts[stats.name]) for stats in every if counts[stats.name]]


def _paths(reader: IndexReader, sql: str, values: Sequence[Any]) -> list[str]:
    return list(dict.fromkeys(path for (path,) in reader.select_all(sql, values)))


def files_by_subjects(reader: IndexReader, match: str) -> dict[str, float]:
    """Return the BM25 score of the subjects of each file's commits for an FTS5 expression, by path."""
    sql = """SELECT f.path, -bm25(subjects_fts) FROM subjects_fts
        CROSS JOIN files f ON f.id = subjects_fts.rowid WHERE subjects_fts MATCH ?"""
    return dict(reader.select(sql, (match,))) if match else {}


def in_degrees(reader: IndexReader, paths: Iterable[str]) -> dict[str, int]:
    """Return how many files import each of these files, in 0.15 ms for 200."""
    rows = reader.select(
        """SELECT wanted.value, coalesce(i.in_degree, 0)
           FROM json_each(?) wanted LEFT JOIN file_imports i ON i.path = wanted.value""",
        (json.dumps(list(paths)),),
    )
    return dict(rows)


def copies_among(reader: IndexReader, paths: Iterable[str]) -> dict[str, tuple[str, float]]:
    """Return the copies among `paths`, each with its original and the share of copied lines."""
    named = "SELECT path, original, share FROM copies WHERE path IN (SELECT value FROM json_each(?))"
    rows = reader.select(named, (json.dumps(list(paths)),))
    return {path: (original, share) for path, original, share in rows}


def file_stamps(reader: IndexReader, paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the indexed size in bytes and time of change in ns of the files that the index has."""
    named = "SELECT path, size, mtime_ns FROM files WHERE path IN (SELECT value FROM json_each(?))"
    return {path: (size, at) for path, size, at in reader.select(named, (json.dumps(list(paths)),))}


def all_file_stamps(reader: IndexReader) -> dict[str, tuple[int, int]]:
    """Return the indexed size in bytes and time of change in ns of all files."""
    return {path: (size, at) for path, size, at in reader.select("SELECT path, size, mtime_ns FROM files")}


def file_ids(reader: IndexReader, paths: Iterable[str]) -> dict[str, int]:
    """Return the ids of the files among `paths` that the index has."""
    named = "SELECT path, id FROM files WHERE path IN (SELECT value FROM json_each(?))"
    return dict(reader.select(named, (json.dumps(list(paths)),)))


def best_by_file(scores: Mapping[str, float], limit: int) -> list[str]:
    return [path for _, path in nsmallest(limit, ((-score, path) for path, score in scores.items()))]


def readme_paths(reader: IndexReader, patterns: Sequence[str]) -> list[str]:
    """Return the saved files whose name matches a glob in any case. 1,400 files take 2 ms."""
    paths = (path for (path,) in reader.select("SELECT path FROM files WHERE is_text"))
    return sorted(filter(readme_rule(patterns), paths))


def readme_rule(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Return a predicate for paths: whether the file's name matches one of the globs in any case."""
    matches = re.compile("|".join(translate(pattern.lower()) for pattern in patterns) or r"(?!)").match
    return lambda path: matches(path.rpartition("/")[2].lower()) is not None


@frozen
class Touch:
    commit: Commit
    files: int
    """The number of the folder's files that the commit touched."""


@frozen
class TouchedFile:
    """The commits of one file, without those that touched more than 60 files."""

    touches: Sequence[Touch] = ()
    """The latest commits, newest first; empty for an index without commits, such as a team's catalogue."""
    count: int = 0
    last_time: int = 0
    """The time of the newest commit in Unix seconds; 0 if none is known."""


def commits_of(reader: IndexReader, path: str, limit: int) -> TouchedFile:
    """Return the history of the file with its `limit` latest commits, in 1 ms for each block of commits."""
    rows = reader.select("SELECT touches, count, last_time FROM file_history WHERE path = ?", (path,))
    if not rows:
        return TouchedFile()
    touches, count, last_time = rows[0]
    latest = list(unpacked_touches(touches))[:limit]
    commits = _commits(reader, [number for number, _ in latest])
    found = tuple(Touch(commits[number], files) for number, files in latest if number in commits)
    return TouchedFile(found, count, last_time)


def _commits(reader: IndexReader, numbers: Iterable[int]) -> dict[int, Commit]:
    found: dict[int, Commit] = {}
    for number in numbers:
        if number not in found:
            sql = "SELECT first, packed FROM commits WHERE first <= ? ORDER BY first DESC LIMIT 1"
            for first, packed in reader.select(sql, (number,)):
                found.update(unpacked_commits(first, packed))
    return found


def copies_of(reader: IndexReader, path: str) -> list[str]:
    rows = reader.select("SELECT path FROM copies WHERE original = ? ORDER BY path", (path,))
    return [copy for (copy,) in rows]
