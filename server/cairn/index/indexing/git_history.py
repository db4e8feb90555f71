"""Stores in the index, for each file, the commits reachable from HEAD that touched the file."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import cast

import apsw

from cairn.index.store.keyword_columns import compound_parts
from cairn.index.store.meta import raise_generation, read_facts
from cairn.index.store.rows import (
    COMMITS_IN_BLOCK,
    packed_commits,
    packed_touches,
    unpacked_commits,
    unpacked_touches,
)
from cairn.text.unspaced import spread
from cairn.workspace.builtin_rules import may_contain_secrets
from cairn.workspace.git_log import Commit, FileHistory, Tip, follow, head, read_commits, refusal

_KEPT_COMMITS = 40_000
"""The number of commits, those read last, that are kept even if HEAD no longer reaches them. So a switch back
to a branch need not read its commits again."""
_NARROW = 9
"""A commit's subject is indexed if the commit touched at most this many files. The subjects of other commits
did not help (docs/ranking.md)."""


class GitHistory:
    def __init__(self, db: apsw.Connection, source: Path | Tip) -> None:
        """`source` is the workspace folder, whose HEAD may move, or a commit."""
        self._db = db
        self._source = source
        self._followed: list[str | int | None] | None = None
        """The commit of HEAD and the value of `Facts.paths` at the latest update."""
        self.problem = ""
        """Why some history is missing; "" if it is complete or there is no repository."""

    def update(self, stopped: Callable[[], bool]) -> bool:
        """Update the history if HEAD moved or files were added or removed, else return false."""
        at, paths_version = head(self._source), read_facts(self._db).paths
        if self._followed is None:
            known = self._db.execute("SELECT value FROM meta WHERE key = 'history'").get
            self._followed = json.loads(str(known)) if known else None
        if self._followed == [at, paths_version]:
            return False
        commits, self.problem = self._read(stopped) if at else ([], refusal(self._source))
        if stopped():
            return True
        files = self._db.execute("SELECT path, id FROM files WHERE is_text")
        present = {str(path): int(file_id) for path, file_id in files}
        histories = follow((commit for _, commit in commits), list(present))
        self._write(histories, present, {commit.hash: (number, commit.subject) for number, commit in commits})
        self._followed = [at, paths_version]
        with self._db:
            self._db.execute(
                "INSERT OR REPLACE INTO meta(key, value) VALUES ('history', ?)", (json.dumps(self._followed),)
            )
        return True

    def _read(self, stopped: Callable[[], bool]) -> tuple[list[tuple[int, Commit]], str]:
        """Store new commits. Return the commits that HEAD reaches with their ids, newest first, and the
        reason why some are missing, or ""."""
        left_out = {str(path) for (path,) in self._db.execute("SELECT path FROM files WHERE NOT is_text")}
        is_secret = cache(lambda path: path in left_out or may_contain_secrets(path))
        known = self._known(is_secret)
        reading = read_commits(self._source, known, stop=stopped)
        commits = (commit.without_secrets(is_secret) for commit in reading)
        number = max((number for number, _ in known.values()), default=0) + 1
        while block := list(itertools.islice(commits, COMMITS_IN_BLOCK)):
            with self._db:
                self._db.execute(
                    "INSERT INTO commits(first, packed) VALUES (?, ?)", (number, packed_commits(block))
                )
            known.update({commit.hash: (number + place, commit) for place, commit in enumerate(block)})
            number += len(block)
        reached = [known[each] for each in reading.hashes if each in known]
        needed = {each for each, _ in reached}
        starts = [int(str(row[0])) for row in self._db.execute("SELECT first FROM commits ORDER BY first")]
        old = [
            (start,)
            for start, end in itertools.pairwise([*starts, number])
            if start + _KEPT_COMMITS < number and needed.isdisjoint(range(start, end))
        ]
        with self._db:
            self._db.executemany("DELETE FROM commits WHERE first = ?", old)
        return reached, reading.problem

    def _known(self, is_secret: Callable[[str], bool]) -> dict[str, tuple[int, Commit]]:
        """Return the stored commits with their ids, by hash. Delete subjects about secret files."""
        known: dict[str, tuple[int, Commit]] = {}
        for first, packed in self._db.execute("SELECT first, packed FROM commits").fetchall():
            stored = list(unpacked_commits(cast(int, first), cast(bytes, packed)))
            kept = [(number, commit.without_secrets(is_secret)) for number, commit in stored]
            if kept != stored:
                block = packed_commits(commit for _, commit in kept)
                with self._db:
                    self._db.execute("UPDATE commits SET packed = ? WHERE first = ?", (block, first))
            known.update({commit.hash: (number, commit) for number, commit in kept})
        return known

    def _write(
        self,
        histories: Mapping[str, FileHistory],
        files: Mapping[str, int],
        commits: Mapping[str, tuple[int, str]],
    ) -> None:
        rows = [
            (
                path,
                files[path],
                packed_touches((commits[touch.hash][0], touch.files) for touch in history.touches),
                history.count,
                history.last_time,
            )
            for path, history in histories.items()
        ]
        known = set(self._db.execute("SELECT * FROM file_history"))
        # A file that was removed and came back has its old row, but no subjects in the keyword index.
        indexed = {row[0] for row in self._db.execute("SELECT id FROM subjects_fts_docsize")}
        fresh = [row for row in rows if row not in known or row[1] not in indexed]
        stale = known.difference(rows) | known.intersection(fresh)
        if not fresh and not stale:
            return
        subjects = [
            (file_id, _words_of((commits[touch.hash][1], touch.files) for touch in histories[path].touches))
            for path, file_id, *_ in fresh
        ]
        with self._db:
            self._db.executemany("DELETE FROM file_history WHERE path = ?", [row[:1] for row in stale])
            self._db.executemany("DELETE FROM subjects_fts WHERE rowid = ?", [row[1:2] for row in stale])
            self._db.executemany("INSERT INTO file_history VALUES (?, ?, ?, ?, ?)", fresh)
            self._db.executemany("INSERT INTO subjects_fts(rowid, subjects) VALUES (?, ?)", subjects)
            raise_generation(self._db)


def subject_words(touches: bytes, commits: Mapping[int, Commit]) -> str:
    """Return the indexed words of a file's commit subjects. `touches` is the packed list of the file's
    commits, and `commits` has commits by id."""
    return _words_of(
        (commits[number].subject, files) for number, files in unpacked_touches(touches) if number in commits
    )


def _words_of(subjects: Iterable[tuple[str, int]]) -> str:
    """Return the words of the commit subjects, given with the number of files of each commit. Subjects of
    commits of more than `_NARROW` files are left out."""
    narrow = (subject for subject, files in subjects if files <= _NARROW)
    return "\n".join(f"{spread(subject)} {' '.join(compound_parts(subject))}" for subject in narrow)


def stored_commits(db: apsw.Connection) -> Iterator[tuple[int, Commit]]:
    for start, packed in db.execute("SELECT first, packed FROM commits ORDER BY first"):
        yield from unpacked_commits(cast(int, start), cast(bytes, packed))
