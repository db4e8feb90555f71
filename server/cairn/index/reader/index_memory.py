"""The connections through which a process reads one index, and the memory that all its readers share."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import apsw
from attrs import define, field

from cairn.errors import IndexUnavailableError
from cairn.index.reader.bm25 import register
from cairn.index.reader.records import Outline, StoredChunk
from cairn.index.reader.word_list import WordList
from cairn.index.store.caches import ContentCache, GenerationCache
from cairn.index.store.coordination import ask_for_check
from cairn.index.store.database import DAMAGE, DATABASE_NAME, create, file_identity, open_reader
from cairn.index.store.deadline import check_end, interruption, query_end

if TYPE_CHECKING:
    from cairn.chunking.references.packed_table import PackedTable
    from cairn.index.vectors.static_matrix import StaticMatrix


Row = tuple[Any, ...]
T = TypeVar("T")

_LOOK_SECONDS = 0.02
"""The minimum time between two checks of a thread whether another file has replaced the index. One search
reads the index about thirty times."""
_MOST_OUTLINES = 20_000
"""The maximum number of outlines to cache. They take 11 MB."""
_MOST_FILES = 1_000
"""The maximum number of files whose chunks' ids are cached."""
_MOST_CHUNKS = 1_000
"""The maximum number of chunks to cache. Each takes 2 to 4 KB."""
_MOST_TABLES = 1_000
"""The maximum number of symbol tables to cache. Each takes 20 to 40 KB."""
_MOST_WRITTEN = 2_000
"""The maximum number of names whose symbol tables are listed in the cache."""
_MOST_NAMED = 20
"""The maximum number of pattern lists whose matching files are cached. A list that matches 78,000 files takes
0.5 MB."""
_CHECK_EVERY = 4_000
"""The number of SQLite instructions between two checks of the query's end. A keyword query executes as many
for about 400 rows, in 0.4 ms."""
_WORDS_KEPT_SECONDS = 60.0
"""How long an unused word list stays in memory. The list of a million chunks takes 73 MB, and 0.4 s to read
again."""


class _ThreadLocal(threading.local):
    db: apsw.Connection | None = None
    identity: object = None
    """The `file_identity` of the index behind `db`; None for the empty index."""
    looked: float = float("-inf")
    empty: apsw.Connection | None = None
    """An empty index in memory, used while there is no index file."""


@define(eq=False)
class IndexMemory:
    """Connections and caches that all threads and readers of a process share for one index."""

    local: _ThreadLocal = field(factory=_ThreadLocal, init=False)
    words: WordList = field(factory=WordList, init=False)
    outlines: GenerationCache[int, Outline] = field(
        factory=partial(GenerationCache, _MOST_OUTLINES), init=False
    )
    chunk_ids: GenerationCache[str, tuple[int, ...]] = field(
        factory=partial(GenerationCache, _MOST_FILES), init=False
    )
    """The ids of the chunks of each file in order, by path."""
    stored: GenerationCache[int, StoredChunk] = field(
        factory=partial(GenerationCache, _MOST_CHUNKS), init=False
    )
    written: GenerationCache[tuple[str, int], tuple[Row, ...]] = field(
        factory=partial(GenerationCache, _MOST_WRITTEN), init=False
    )
    """The ids and paths of the symbol tables that contain a name, by the name's words and a limit."""
    tables: GenerationCache[int, PackedTable] = field(
        factory=partial(GenerationCache, _MOST_TABLES), init=False
    )
    _owned: dict[Callable[[], Any], Any] = field(factory=dict, init=False)
    derived: dict[str, ContentCache[Any]] = field(factory=dict, init=False)
    """Values that other packages derived from the index's content, by name."""
    named: GenerationCache[tuple[str, ...], str] = field(
        factory=partial(GenerationCache, _MOST_NAMED), init=False
    )
    """The ids of the files that match a list of patterns, as a JSON list, by that list of patterns."""
    matrix: StaticMatrix | None = field(default=None, init=False)
    matrix_lock: threading.Lock = field(factory=threading.Lock, init=False)

    _words_used: float = field(default=0.0, init=False)
    _words_timer: threading.Timer | None = field(default=None, init=False)

    def own(self, make: Callable[[], T]) -> T:
        """Return the object that `make` made for this index at the first call. `make` is also its name."""
        if make not in self._owned:
            self._owned.setdefault(make, make())
        owned: T = self._owned[make]
        return owned

    def use_words(self, words: WordList) -> None:
        """Keep the word list for later queries, until none has used it for `_WORDS_KEPT_SECONDS`."""
        self.words, self._words_used = words, time.monotonic()
        if self._words_timer is None and words.lists:
            self._forget_words_after(_WORDS_KEPT_SECONDS)

    def _forget_words_after(self, seconds: float) -> None:
        self._words_timer = threading.Timer(seconds, self._forget_words)
        self._words_timer.daemon = True
        self._words_timer.start()

    def _forget_words(self) -> None:
        left = self._words_used + _WORDS_KEPT_SECONDS - time.monotonic()
        if left > 0:
            self._forget_words_after(left)
        else:
            self.words, self._words_timer = WordList(), None

    def forget_vectors(self) -> None:
        """Free the memory of the static vectors; the next query reads them again."""
        if self.matrix is not None:
            self.matrix.forget()


def prepare(db: apsw.Connection) -> None:
    """Let a connection score words, and interrupt its statements at the end of the thread's query."""
    register(db)
    db.set_progress_handler(lambda: query_end()(), _CHECK_EVERY)


@define(eq=False, slots=False)
class ConnectedReader:
    """Gives each thread a connection to the index in `folder`, or to an empty one while there is no index."""

    folder: Path
    memory: IndexMemory = field(factory=IndexMemory, kw_only=True)
    root: str = field(default="", kw_only=True)
    """The real path of the indexed folder, by which a filter selects folders; "" for a single folder."""

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Yield the calling thread's connection. At the end of the query (`check_end`), its statement is
        interrupted. An index that cannot be read raises IndexUnavailableError."""
        check_end()
        db = self.connection()
        try:
            yield db
        except apsw.InterruptError:
            raise interruption(query_end()) from None
        except DAMAGE as problem:
            ask_for_check(self.folder)
            raise IndexUnavailableError(
                f"The index in {self.folder} is damaged ({problem}). Cairn rebuilds it once it indexes the"
                " folder."
            ) from problem
        except apsw.Error as problem:
            check_end()  # An interrupted sqlite-vec reports "chunks iter error".
            raise IndexUnavailableError(
                f"The index in {self.folder} cannot be read ({problem}). Try again; if that does not help,"
                " restart Cairn."
            ) from problem

    @contextmanager
    def in_one_state(self) -> Iterator[None]:
        """Let the calling thread read the index in one state during the block, whatever is written meanwhile.
        Otherwise, a file that is saved during a query could be missing in its results: the chunks that a leg
        found would be gone when the next step reads them."""
        db = self.connection()
        if db.in_transaction:  # The block is part of another one.
            yield
            return
        db.execute("BEGIN")
        try:
            yield
        finally:
            if db.in_transaction:  # After a failed read, SQLite may have ended it.
                db.execute("COMMIT")

    def select(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self.reading() as db:
            return db.execute(sql, values).fetchall()

    def identity(self) -> object:
        """Return a value that changes when another index, with generations of its own, replaces this one."""
        return file_identity(self.folder / DATABASE_NAME)

    def connection(self) -> apsw.Connection:
        """Return the calling thread's connection, reopened if another file has replaced the index."""
        local = self.memory.local
        now = time.monotonic()
        if local.db is None or local.identity is None or now >= local.looked + _LOOK_SECONDS:
            path = self.folder / DATABASE_NAME
            identity = file_identity(path)
            if identity is None or identity != local.identity:
                local.db = open_reader(path)
                local.identity = identity if local.db else None
                if local.db is not None:
                    prepare(local.db)
            local.looked = now
        if local.db is None:
            if local.empty is None:
                local.empty = create(":memory:", vfs=None)  # takes 1 ms
                prepare(local.empty)
            local.db = local.empty
        return local.db
