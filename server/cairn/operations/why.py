"""Why is a file in the index, or not? The rules asked are the very ones that a scan asks; the index is only read."""

from __future__ import annotations

import os
from pathlib import Path

from attrs import asdict, frozen

from cairn.chunking.model import content_key
from cairn.errors import IndexUnavailableError, InvalidRequestError
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.reader import SqliteReader
from cairn.index.store.database import DATABASE_NAME
from cairn.index.store.meta import read_facts
from cairn.index.store.schema import STATIC_TABLE
from cairn.operations.places import path_in
from cairn.paths import workspace_dir
from cairn.settings.layers import Layers
from cairn.text.unicode import well_formed
from cairn.workspace.builtin_rules import Decision, decide_content
from cairn.workspace.rules import FileRules
from cairn.workspace.scan import read_text


@frozen
class Held:
    """What the index has of a file, or of the files in a directory."""

    files: int
    chunks: int
    embedded: int
    """Chunks with a vector that answers are made with: the installed model's, else a static one."""
    indexed_at: str | None
    """When the file, or the latest of them, was last read: ISO 8601, UTC."""
    changed_since: bool
    """Whether the file on disk has another text than the one that was read."""
    generation: int
    """Of the whole index."""
    original: str | None = None
    """Of a file that is a copy, or made of others: the one that most of it is from. It ranks below its originals."""
    copied: float = 0.0
    """The share of its lines that are from its originals, 0 to 1."""


@frozen
class Why:
    """Whether a path is indexed, the rule that decided, and what the index has of it."""

    path: str
    """Relative to the workspace folder, with `/`; "" is the folder itself."""
    directory: bool
    indexed: bool
    """Of a directory: whether the scan looks into it."""
    rule: str
    detail: str
    """What is particular to this path, such as ignore file, line and pattern; may be ""."""
    state: str
    """What the index has, in words."""
    held: Held | None
    """None where there is no index yet, or it has nothing of the path."""
    warnings: tuple[str, ...] = ()
    """What in the settings could not be used."""


def why(path: Path, folder: Path) -> Why:
    """Explain the decision about `path`, absolute or relative to the current directory, in the workspace `folder`.

    Raises InvalidRequestError if the folder or the path does not exist, or one is not in the other.
    """
    root, relative = folder.resolve(), path_in(folder, path)
    absolute = root / relative
    reader = SqliteReader(workspace_dir(root))
    if not os.path.lexists(absolute):
        held = _held(reader, absolute, relative, directory=False)
        known = "; the index has it until the folder is looked at again" if held else ""
        raise InvalidRequestError(
            "path", f"{path} does not exist{known}; give the path of a file or a directory"
        )
    laid = Layers().of(root)
    rules = FileRules(root, laid.settings.index)
    directory = absolute.is_dir() and not absolute.is_symlink()
    decision = _decide(rules, root, relative, directory)
    try:
        held = _held(reader, absolute, relative, directory)
        state = _state(reader, decision, held, directory)
    except IndexUnavailableError as problem:  # the rule counts all the same
        held, state = None, str(problem)
    warnings = tuple(laid.texts())
    return Why(relative, directory, **asdict(decision), state=state, held=held, warnings=warnings)


def _decide(rules: FileRules, root: Path, path: str, directory: bool) -> Decision:
    if not path:
        return Decision(True, "it is the workspace folder")
    if directory:
        return rules.decide_descent(path)
    decision = rules.decide(path)
    if decision.rule == "symbolic link" and not decision.detail:
        target = (root / path).resolve()
        leads = "leads nowhere" if not target.exists() else f"leads to {target}, which counts where it lies"
        return Decision(False, decision.rule, leads)
    by_content = decide_by_content(root, path) if decision.indexed else decision
    return decision if by_content.indexed else by_content


def decide_by_content(root: Path, path: str) -> Decision:
    """Decide about a file from what is in it, given that its name and place admit it."""
    try:
        text = read_text(root / path)
    except OSError as problem:
        return Decision(False, f"cannot be read: {problem.strerror or problem}")
    if text is None:
        return Decision(False, "binary content", "only its name can be found")
    return decide_content(path, text)


def _held(reader: IndexReader, absolute: Path, path: str, directory: bool) -> Held | None:
    path = well_formed(path)
    where, given = "path = ?", [path]
    if directory:  # every path that begins so: `0` follows `/`
        where, given = ("path >= ? || '/' AND path < ? || '0'", [path, path]) if path else ("true", [])

    with reader.reading() as db:
        rows = list(
            db.execute(f"SELECT content_hash, size, mtime_ns, indexed_at FROM files WHERE {where}", given)
        )
        if not rows:
            return None
        facts = read_facts(db)
        has_vector = "false"  # answers are made with the installed model's vectors, else with static ones
        if facts.model_id:
            has_vector = f"""EXISTS (SELECT 1 FROM embeddings e
                WHERE e.key = c.embedding_key AND e.model_id = {facts.model_id})"""
        elif facts.has_static:
            has_vector = f"c.id IN (SELECT rowid FROM {STATIC_TABLE}_rowids)"
        chunks, embedded = db.execute(
            f"""SELECT count(*), coalesce(sum({has_vector}), 0) FROM files f JOIN chunks c ON c.file_id = f.id
                WHERE f.id IN (SELECT id FROM files WHERE {where})""",
            given,
        ).fetchone() or (0, 0)
        copy = (
            None
            if directory
            else db.execute("SELECT original, share FROM copies WHERE path = ?", given).fetchone()
        )
        original, share = copy or (None, 0.0)
        changed = not directory and _is_changed(absolute, *rows[0][:3])
        latest = max(str(row[3]) for row in rows)
        return Held(
            len(rows),
            int(str(chunks)),
            int(str(embedded)),
            latest,
            changed,
            facts.generation,
            original,
            share,
        )


def _is_changed(file: Path, content_hash: object, size: object, mtime_ns: object) -> bool:
    try:
        status = file.lstat()
        if (status.st_size, status.st_mtime_ns) == (size, mtime_ns):
            return False
        # One that was read just after it was written is kept without a time, and one may be touched without a change.
        return status.st_size != size or bytes.fromhex(content_key(read_text(file) or "")) != content_hash
    except OSError:
        return True


def _state(reader: IndexReader, decision: Decision, held: Held | None, directory: bool) -> str:
    if not reader.generation():
        if (reader.folder / DATABASE_NAME).exists():
            return "the index cannot be read now; `cairn doctor` says why"
        return "the folder is not indexed yet; run `cairn index`"
    if directory:
        if held is None:
            return "the index has nothing of it"
        return f"{held.files} files, {held.chunks} chunks, {held.embedded} with a vector"
    if held is None:
        if not decision.indexed:
            return "the index does not have it"
        return "not read yet; `cairn index` reads it, and so does an editor that has the folder open"
    known = f"{held.chunks} chunks, {held.embedded} with a vector, read at {held.indexed_at}"
    if held.original:
        known += f"; {held.copied:.0%} of its lines stand in other files, most of them in {held.original}, so it ranks below these"
    if not held.chunks:
        known = f"its name alone, read at {held.indexed_at}"
    if not decision.indexed and held.chunks:
        return f"{known}; the next look at the folder takes it out"
    return f"{known}; changed since then" if held.changed_since else known
