"""The tables of the index file.

Text, keywords and vectors live in one database, so one transaction keeps them in step. FTS5 reads its
columns from `chunks` (external content): triggers carry every change over, so a delete cannot miss it.
"""

from __future__ import annotations

import zlib

CONTENT_VERSION = 1
"""Raised by any change of chunking or of the embedded text: older indexes are rebuilt."""

# Underscores belong to a token, so `add_url_rule` is found as it is written; its parts, and those of
# camelCase names, stand in `identifiers`. Splitting there rather than in a tokenizer of our own, because
# a tokenizer in Python was measured to be 56 times slower. Porter stemming was worth +0.037 NDCG@10.
_TOKENIZER = "porter unicode61 remove_diacritics 2 tokenchars _"

SCHEMA = f"""
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;

CREATE TABLE files(
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    is_text INTEGER NOT NULL,
    kind TEXT NOT NULL,
    collection TEXT NOT NULL,
    indexed_at TEXT NOT NULL
);
CREATE INDEX files_by_collection ON files(collection);

CREATE TABLE chunks(
    id INTEGER PRIMARY KEY,
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
    content_hash TEXT NOT NULL,
    embedding_key TEXT NOT NULL,
    text TEXT NOT NULL,
    identifiers TEXT NOT NULL,
    path_words TEXT NOT NULL,
    symbol_words TEXT NOT NULL,
    UNIQUE(file_id, position)
);
CREATE INDEX chunks_by_embedding ON chunks(embedding_key);

CREATE TABLE definitions(
    name TEXT NOT NULL COLLATE NOCASE,
    chunk_id INTEGER NOT NULL REFERENCES chunks(id) ON DELETE CASCADE,
    PRIMARY KEY(name, chunk_id)
) WITHOUT ROWID;
CREATE INDEX definitions_by_chunk ON definitions(chunk_id);

CREATE VIRTUAL TABLE chunks_fts USING fts5(
    text, identifiers, path_words, symbol_words,
    content='chunks', content_rowid='id', tokenize="{_TOKENIZER}"
);
CREATE TRIGGER chunks_inserted AFTER INSERT ON chunks BEGIN
    INSERT INTO chunks_fts(rowid, text, identifiers, path_words, symbol_words)
    VALUES (new.id, new.text, new.identifiers, new.path_words, new.symbol_words);
END;
CREATE TRIGGER chunks_defining AFTER INSERT ON chunks BEGIN
    INSERT OR IGNORE INTO definitions(name, chunk_id) SELECT value, new.id FROM json_each(new.defines);
END;
CREATE TRIGGER chunks_deleted AFTER DELETE ON chunks BEGIN
    INSERT INTO chunks_fts(chunks_fts, rowid, text, identifiers, path_words, symbol_words)
    VALUES ('delete', old.id, old.text, old.identifiers, old.path_words, old.symbol_words);
END;

CREATE TABLE models(
    id INTEGER PRIMARY KEY,
    model TEXT NOT NULL UNIQUE,
    dimension INTEGER NOT NULL
);
CREATE TABLE embeddings(
    id INTEGER PRIMARY KEY,
    model_id INTEGER NOT NULL REFERENCES models(id),
    key TEXT NOT NULL,
    UNIQUE(model_id, key)
);
"""

SCHEMA_VERSION = zlib.crc32(f"{CONTENT_VERSION} {SCHEMA}".encode()) & 0x7FFFFFFF
"""Changes with the tables by itself; SQLite's `user_version` holds 31 bits."""


def vectors_table(model_id: int) -> str:
    """The vec0 table of one model: vectors of two models never meet in one comparison."""
    return f"vectors_{int(model_id)}"


def create_vectors_table(model_id: int, dimension: int) -> str:
    """SQL that creates the model's table; a row's rowid is its `embeddings.id`."""
    return (
        f"CREATE VIRTUAL TABLE {vectors_table(model_id)} "
        f"USING vec0(embedding float[{int(dimension)}] distance_metric=cosine)"
    )
