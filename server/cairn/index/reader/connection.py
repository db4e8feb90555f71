"""The connections through which the threads of a process read one index, and what they keep of it in memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
from attrs import define, field

from cairn.errors import IndexUnavailableError, OutOfTimeError, QueryCancelledError
from cairn.index.reader.kept import Kept
from cairn.index.reader.records import Outline
from cairn.index.store.database import DAMAGE, DATABASE_NAME, create, file_identity, open_reader
from cairn.index.store.deadline import Cancelled, Deadline
from cairn.index.store.generation_cache import GenerationCache
from cairn.index.store.requests import ask_for_check
from cairn.index.text.bm25 import register
from cairn.index.text.word_list import WordList

if TYPE_CHECKING:
    from cairn.chunking.references.packing import PackedTable
    from cairn.index.vectors.static_matrix import StaticMatrix

Row = tuple[Any, ...]

_LOOK_SECONDS = 0.02
"""How often a thread looks whether another file has taken the index's place: a search reads some thirty times."""
_MOST_OUTLINES = 20_000
"""Outlines kept: 11 MB."""
_MOST_TABLES = 1_000
"""Symbol tables kept: 20 to 40 KB each."""
_MOST_NAMED = 20
"""Lists of patterns kept, with the files that they name: 0.5 MB for one that names all of 78,000."""
_CHECK_EVERY = 1_000
"""SQLite instructions between two looks at the cancel flag: about a hundred rows of a keyword query."""
_WORDS_KEPT_SECONDS = 60.0
"""The list of all words is kept so long after a question for a text used it: 73 MB of a million chunks, which take 0.4 s to
read."""


class _ThreadLocal(threading.local):
    """What one thread reads through."""

    db: apsw.Connection | None = None
    identity: object = None
    """`file_identity` of what `db` reads; None while it is the empty index."""
    looked: float = float("-inf")
    empty: apsw.Connection | None = None
    """An index in memory that stands in while there is no file."""


@define(eq=False)
class IndexMemory:
    """What all threads and readers of a process keep of one index, and their connections to it."""

    local: _ThreadLocal = field(factory=_ThreadLocal, init=False)
    words: WordList = field(factory=WordList, init=False)
    outlines: GenerationCache[int, Outline] = field(
        factory=partial(GenerationCache, _MOST_OUTLINES), init=False
    )
    tables: GenerationCache[int, PackedTable] = field(
        factory=partial(GenerationCache, _MOST_TABLES), init=False
    )
    """Symbol tables by their ids."""
    made: dict[str, Kept[Any]] = field(factory=dict, init=False)
    """What others made of the index's content, by name."""
    named: GenerationCache[tuple[str, ...], str] = field(
        factory=partial(GenerationCache, _MOST_NAMED), init=False
    )
    """By lists of patterns: the ids of the files that they name, as JSON."""
    matrix: StaticMatrix | None = field(default=None, init=False)
    making_matrix: threading.Lock = field(factory=threading.Lock, init=False)

    _words_used: float = field(default=0.0, init=False)
    _forgetting_words: threading.Timer | None = field(default=None, init=False)

    def use_words(self, words: WordList) -> None:
        """Keep the list of all words for the next question, and forget it once none came for a while."""
        self.words, self._words_used = words, time.monotonic()
        if self._forgetting_words is None and words.lists:
            self._forget_words_after(_WORDS_KEPT_SECONDS)

    def _forget_words_after(self, seconds: float) -> None:
        self._forgetting_words = threading.Timer(seconds, self._forget_words)
        self._forgetting_words.daemon = True
        self._forgetting_words.start()

    def _forget_words(self) -> None:
        left = self._words_used + _WORDS_KEPT_SECONDS - time.monotonic()
        if left > 0:
            self._forget_words_after(left)
        else:
            self.words, self._forgetting_words = WordList(), None

    def forget_vectors(self) -> None:
        """Free the memory that static vectors take; the next question reads them anew."""
        if self.matrix is not None:
            self.matrix.forget()


@define(eq=False, slots=False)
class ConnectedReader:
    """Gives each thread a connection to the index in `folder`; while there is no index, to an empty one."""

    folder: Path
    memory: IndexMemory = field(factory=IndexMemory, kw_only=True)
    root: str = field(default="", kw_only=True)
    """The real path of the folder that is indexed, by which a filter tells several apart; "" where there is one only."""

    @contextmanager
    def reading(self, cancelled: Cancelled | None = None) -> Iterator[apsw.Connection]:
        """The calling thread's connection. A statement that runs when `cancelled()` turns true is interrupted.

        Raises QueryCancelledError then, or OutOfTimeError where only the time of a Deadline was over. Raises
        IndexUnavailableError where the index cannot be read.
        """
        db = self._connection()
        if cancelled is not None:
            db.set_progress_handler(cancelled, _CHECK_EVERY)
        try:
            yield db
        except apsw.InterruptError:
            raise interruption(cancelled) from None
        except DAMAGE as problem:
            ask_for_check(self.folder)
            raise IndexUnavailableError(
                f"The index in {self.folder} is damaged ({problem}). It is made anew once Cairn indexes the folder."
            ) from problem
        except apsw.Error as problem:
            if cancelled is not None and cancelled():
                raise interruption(cancelled) from None  # sqlite-vec says of it "chunks iter error"
            raise IndexUnavailableError(
                f"The index in {self.folder} cannot be read ({problem}). Try again; if it stays so, restart Cairn."
            ) from problem
        finally:
            if cancelled is not None:
                db.set_progress_handler(None)

    def select(self, sql: str, values: Sequence[Any] = (), cancelled: Cancelled | None = None) -> list[Row]:
        """All rows of one query."""
        with self.reading(cancelled) as db:
            return db.execute(sql, values).fetchall()

    def identity(self) -> object:
        """Which index this is: differs once another one has taken its place, whose generations start anew."""
        return file_identity(self.folder / DATABASE_NAME)

    def _connection(self) -> apsw.Connection:
        """The calling thread's connection, a new one when the file is no longer what it was opened as."""
        local = self.memory.local
        now = time.monotonic()
        if local.db is None or local.identity is None or now >= local.looked + _LOOK_SECONDS:
            path = self.folder / DATABASE_NAME
            identity = file_identity(path)
            if identity is None or identity != local.identity:
                local.db = open_reader(path)
                local.identity = identity if local.db else None
                if local.db is not None:
                    register(local.db)
            local.looked = now
        if local.db is None:
            if local.empty is None:
                local.empty = create(":memory:", vfs=None)  # 1 ms
                register(local.empty)
            local.db = local.empty
        return local.db


def interruption(cancelled: Cancelled | None) -> OutOfTimeError | QueryCancelledError:
    """The error for a query that was interrupted because `cancelled()` is true."""
    if isinstance(cancelled, Deadline) and cancelled.is_over and not cancelled.cancelled():
        return OutOfTimeError("The query was broken off, as its time was over.")
    return QueryCancelledError("The request was cancelled.")
