"""The tables of the index file. One transaction changes text, keywords and vectors together."""

from __future__ import annotations

import re
import zlib

CONTENT_VERSION = 11
"""Increment this with any change of chunking, of the embedded text, or of the rules that exclude a file by
its content, so that older indexes are rebuilt."""

# Underscores belong to a token, so that a query finds `add_url_rule` as it is written. The column
# `identifiers` has the parts of such names and of camelCase names. Splitting them in a tokenizer in Python
# was measured to be 56 times slower. Porter stemming raised NDCG@10 by 0.037.
TOKENIZER = "porter unicode61 remove_diacritics 2 tokenchars _"

# The text is compressed, and the keyword index has no copy of it (contentless, with deletes): with external
# content, 13.5 MB of text took 38.5 MB. Triggers delete the keywords of deleted chunks.
#
# Keys and hashes are 16 bytes, not text. Ids of chunks are not reused, because a queue may still have the ids
# of deleted chunks.
#
# Rows of history, imports and copies have the file's path as key, so that they outlive the row of the file.
# `touches` has the id of each commit (uint32) and its number of files (uint8), newest first. Commits are in
# compressed blocks, and `first` is the id of a block's first commit: without blocks, 20,000 commits took a
# third of the text's size.
SCHEMA = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE files(
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    content_hash BLOB NOT NULL,
    is_text INTEGER NOT NULL,
    kind TEXT NOT NULL,
    collection TEXT NOT NULL,
    indexed_at TEXT NOT NULL,
    chunks INTEGER NOT NULL,
    imports TEXT NOT NULL,
    sketch BLOB NOT NULL,
    symbols_id INTEGER REFERENCES symbols(id)
);
CREATE INDEX files_by_symbols ON files(symbols_id) WHERE symbols_id IS NOT NULL;

-- Files of equal text in one language share their symbol table: it depends on nothing else. `names` finds it by a name that
-- is written in it, and by `=name` where it defines it.
CREATE TABLE symbols(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    content_hash BLOB NOT NULL,
    language TEXT NOT NULL,
    packed BLOB NOT NULL,
    UNIQUE(content_hash, language)
);
CREATE VIRTUAL TABLE names USING fts5(
    words, content='', contentless_delete=1, detail=none, tokenize="ascii tokenchars '_$='"
);
CREATE TRIGGER symbols_deleted AFTER DELETE ON symbols BEGIN
    DELETE FROM names WHERE rowid = old.id;
END;
CREATE TRIGGER files_leaving_symbols AFTER UPDATE OF symbols_id ON files WHEN old.symbols_id IS NOT new.symbols_id BEGIN
    DELETE FROM symbols WHERE id = old.symbols_id AND NOT EXISTS (SELECT 1 FROM files WHERE symbols_id = old.symbols_id);
END;

CREATE TABLE chunks(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file_id INTEGER NOT NULL REFERENCES files(id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    type TEXT NOT NULL,
    language TEXT NOT NULL,
    title TEXT NOT NULL,
    header_path TEXT NOT NULL,
    symbol TEXT NOT NULL,
    symbol_kind TEXT NOT NULL,
    parent TEXT NOT NULL,
    defines TEXT NOT NULL,
    signature TEXT NOT NULL,
    comment TEXT NOT NULL,
    content_hash BLOB NOT NULL,
    text BLOB NOT NULL,
    UNIQUE(file_id, position)
);

CREATE TABLE definitions(
    name TEXT NOT NULL COLLATE NOCASE,
    chunk_id INTEGER NOT NULL REFERENCES chunks(id) ON DELETE CASCADE,
    PRIMARY KEY(name, chunk_id)
) WITHOUT ROWID;
CREATE INDEX definitions_by_chunk ON definitions(chunk_id);

CREATE VIRTUAL TABLE chunks_fts USING fts5(
    text, identifiers, symbol_words,
    content='', contentless_delete=1, tokenize="{TOKENIZER}"
);
CREATE VIRTUAL TABLE words USING fts5vocab(chunks_fts, row);
CREATE VIRTUAL TABLE occurrences USING fts5vocab(chunks_fts, instance);
CREATE VIRTUAL TABLE operators USING fts5(pairs, content='', contentless_delete=1, detail=none, tokenize='ascii');
CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN
    DELETE FROM chunks_fts WHERE rowid = old.id;
    DELETE FROM operators WHERE rowid = old.id;
END;
CREATE TABLE vocabulary(upto INTEGER PRIMARY KEY, words BLOB NOT NULL);

-- Paths and commit subjects are told once for a file: words of a path, told for each of its chunks, were among the
-- most frequent of all ("test" in half of 107,000 chunks), and dear to ask for.
CREATE VIRTUAL TABLE paths_fts USING fts5(stem, folders, content='', contentless_delete=1, tokenize="{TOKENIZER}");
CREATE VIRTUAL TABLE path_words USING fts5vocab(paths_fts, row);
CREATE VIRTUAL TABLE subjects_fts USING fts5(subjects, content='', contentless_delete=1, tokenize="{TOKENIZER}");
CREATE TRIGGER files_deleted AFTER DELETE ON files BEGIN
    DELETE FROM paths_fts WHERE rowid = old.id;
    DELETE FROM subjects_fts WHERE rowid = old.id;
    DELETE FROM symbols WHERE id = old.symbols_id AND NOT EXISTS (SELECT 1 FROM files WHERE symbols_id = old.symbols_id);
END;

CREATE TABLE commits(first INTEGER PRIMARY KEY, packed BLOB NOT NULL);
CREATE TABLE file_history(
    path TEXT PRIMARY KEY,
    file_id INTEGER NOT NULL,
    touches BLOB NOT NULL,
    count INTEGER NOT NULL,
    last_time INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE file_imports(
    path TEXT PRIMARY KEY,
    in_degree INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE copies(
    path TEXT PRIMARY KEY,
    original TEXT NOT NULL,
    share REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE requests(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, path TEXT NOT NULL);
"""  # noqa: E501


def schema_version(schema: str) -> int:
    """Return SQLite's `user_version`, of 31 bits, for these tables. It does not depend on comments, blanks
    and line ends, so that a change of these does not discard the indexes of users."""
    statements = " ".join(re.sub(r"--[^\n]*", "", schema).split())
    return zlib.crc32(f"{CONTENT_VERSION} {statements}".encode()) & 0x7FFFFFFF


SCHEMA_VERSION = schema_version(SCHEMA)

KEYWORD_TABLES = ("chunks_fts", "operators", "paths_fts", "subjects_fts", "names")

STATIC_TABLE = "static_vectors"
"""The table of vectors, if these are enabled; the rowid is the chunk's id. They are those of the code model,
or of a user's own."""


def static_table_name(table: str, dimension: int) -> str:
    """Return a name for the vectors of one model and one format, which are comparable."""
    return f"{table} {create_static_table(dimension)}"


def create_static_table(dimension: int) -> str:
    """Return SQL that creates the table of static vectors. Rounding to int8 hardly changes the ranking.

    The Euclidean distance, sqlite-vec's default, ranks vectors of equal length as the cosine does. For
    107,000 vectors it takes 20 to 37 ms, and the cosine 33 to 55 ms.
    """
    return f"CREATE VIRTUAL TABLE {STATIC_TABLE} USING vec0(embedding int8[{int(dimension)}])"


STATIC_LENGTH = 127
"""The length of every static vector, apart from rounding."""


def static_cosine(distance: str) -> str:
    """Return SQL for the cosine of two static vectors, given SQL for their distance."""
    return f"1.0 - {distance} * {distance} / {2.0 * STATIC_LENGTH**2}"
