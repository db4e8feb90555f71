"""Explains why a file is indexed or not, by the rules of the indexer's scan. The index is only read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from attrs import asdict, field, frozen

from cairn.chunking.model import content_key
from cairn.errors import IndexUnavailableError, InvalidRequestError
from cairn.index.reader.index_reader import IndexReader
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.database import DATABASE_NAME
from cairn.index.store.meta import read_facts
from cairn.index.store.schema import STATIC_TABLE
from cairn.operations.places import path_in
from cairn.paths import workspace_dir
from cairn.settings.layers import Layers
from cairn.settings.tree import IndexSettings
from cairn.text.counts import counted
from cairn.text.decoding import decoded
from cairn.text.unicode import well_formed
from cairn.workspace.builtin_rules import (
    INDEXED,
    LEFT_OUT_BY_CONTENT,
    OTHER_WORKTREE,
    UNREADABLE,
    Decision,
    decide_content,
    unreadable,
)
from cairn.workspace.scan import FileRules, read_bytes, read_text

_IN_WORDS = {
    "built-in: directory without project text": "Directories of other people's code, caches and git's own"
    " data: packages that were installed, virtual environments, build caches.",
    "built-in: may hold secrets": "Files and directories whose names mean secrets, and files that contain"
    " one. Nothing takes them back in.",
    "built-in: generated file": "Files that a program wrote, as their name or their first lines say:"
    " lock files, generated code.",
    "built-in: generated documentation": "Pages that a program made of comments in the code,"
    " where the comments are found already.",
    "built-in: binary file type": "Files without text, by their ending: pictures, archives, compiled"
    " programs.",
    "built-in: minified": "Files nearly all of whose text is in very long lines, as scripts for browsers are"
    " packed.",
    OTHER_WORKTREE: "Folders that `git worktree add` made, which have the files of a repository again. Open"
    " such a folder itself to search it.",
    "symbolic link": "Links to other places. Their targets are indexed too, if they are in the folder.",
    "not a regular file": "Sockets, pipes and devices.",
    "settings: index.include does not name it": "Files that no pattern of the setting index.include names.",
    "settings: index.exclude": "Files and directories that a pattern of the setting index.exclude names.",
    "binary content": "Files with bytes that no text has. Only their names can be found.",
    LEFT_OUT_BY_CONTENT: "Files that are binary, minified or generated, or hold a secret, as their content"
    " says. Only their names can be found.",
}


@frozen
class IndexedFiles:
    """What the index has of a file, or of the files in a directory."""

    files: int
    chunks: int
    embedded: int
    """The number of chunks with a vector."""
    indexed_at: str | None
    """The time when a file was last read for the index (ISO 8601, UTC)."""
    changed_since: bool
    """Whether the file's text on disk differs from the indexed one."""
    generation: int
    original: str | None = None
    """The main original of a file that is a copy and so ranks below it; None for other files."""
    copied: float = 0.0
    """The share of the file's lines that are also in its originals, 0 to 1."""


@frozen
class Why:
    path: str
    """The path relative to the workspace folder, with `/`; "" for the folder itself."""
    directory: bool
    indexed: bool
    """Whether the file is indexed or the directory scanned."""
    rule: str
    detail: str
    """Details of the decision, such as the ignore file, line and pattern; may be ""."""
    state: str
    in_index: IndexedFiles | None = field(metadata={"json": "held"})
    """What the index has of the path; None if it has nothing."""
    warnings: tuple[str, ...] = ()
    meaning: str = ""
    """A sentence that explains why the rule excludes the path; "" if the rule's name says everything."""
    encoding: str = ""
    """How the text is read, as `Shift-JIS, guessed`; "" for UTF-8, and for what is not read."""

    @property
    def exists(self) -> bool:
        return bool(self.rule)


def why(path: Path, folder: Path) -> Why:
    """Return the decision about `path`. Raise InvalidRequestError if it is missing or outside `folder`."""
    root, relative = folder.resolve(), path_in(folder, path)
    absolute = root / relative
    reader = SqliteReader(workspace_dir(root))
    try:
        directory = stat.S_ISDIR(absolute.lstat().st_mode)
    except PermissionError:  # A directory above it cannot be read; the decision says so.
        directory = False
    except OSError:
        in_index = _in_index(reader, absolute, relative, directory=False)
        known = "; the index has it until the folder is looked at again" if in_index else ""
        raise InvalidRequestError(
            "path", f"{path} does not exist{known}; give the path of a file or a directory"
        ) from None
    laid = Layers().of(root)
    rules = FileRules(root, laid.settings.index)
    decision = _decide(rules, root, relative, directory)
    try:
        in_index = _in_index(reader, absolute, relative, directory)
        state = _state(reader, decision, in_index, directory)
    except IndexUnavailableError as problem:  # The decision is known without the index.
        in_index, state = None, str(problem)
    return Why(
        relative,
        directory,
        **asdict(decision),
        state=state,
        in_index=in_index,
        warnings=tuple(laid.texts()),
        meaning="" if decision.indexed else in_words(decision.rule, laid.settings.index),
        encoding=_encoding(absolute) if decision.indexed and not directory else "",
    )


def in_words(rule: str, settings: IndexSettings) -> str:
    """Return a sentence that explains the rule; "" if its name says everything."""
    if rule.startswith("ignored by "):
        return f"Files and directories that a line of {rule.removeprefix('ignored by ')} names."
    if rule.startswith("taken back in by "):
        return f"A line of {rule.removeprefix('taken back in by ')} takes it back in."
    if rule == "larger than index.maxFileBytes":
        allowed = f"{settings.max_file_bytes:,} bytes"
        return f"Files larger than {allowed}, which the setting index.maxFileBytes allows."
    if rule.startswith(UNREADABLE):
        return "The system does not let Cairn read it."
    return _IN_WORDS.get(rule, "")


def _decide(rules: FileRules, root: Path, path: str, directory: bool) -> Decision:
    if not path:
        return Decision(True, "it is the workspace folder")
    if directory:
        decision = rules.decide_descent(path)
        return _listable(root / path) if decision.indexed else decision
    decision = rules.decide(path)
    if decision.rule == "symbolic link" and not decision.detail:
        target = (root / path).resolve()
        leads = "leads nowhere" if not target.exists() else f"leads to {target}, which counts where it lies"
        return Decision(False, decision.rule, leads)
    by_content = decide_by_content(root, path) if decision.indexed else decision
    return decision if by_content.indexed else by_content


def _listable(directory: Path) -> Decision:
    try:
        os.scandir(directory).close()
    except OSError as problem:
        return unreadable(problem)
    return INDEXED


def decide_by_content(root: Path, path: str) -> Decision:
    try:
        text = read_text(root / path)
    except OSError as problem:
        return unreadable(problem)
    if text is None:
        return Decision(False, "binary content", "only its name can be found")
    return decide_content(path, text)


def _encoding(file: Path) -> str:
    try:
        found = decoded(read_bytes(file))
    except OSError:
        return ""
    return found.encoding if found is not None else ""


def _in_index(reader: IndexReader, absolute: Path, path: str, directory: bool) -> IndexedFiles | None:
    path = well_formed(path)
    where, given = "path = ?", [path]
    if directory:  # The character `0` follows `/`, so these are all paths below it.
        where, given = ("path >= ? || '/' AND path < ? || '0'", [path, path]) if path else ("true", [])

    with reader.reading() as db:
        rows = list(
            db.execute(f"SELECT content_hash, size, mtime_ns, indexed_at FROM files WHERE {where}", given)
        )
        if not rows:
            return None
        facts = read_facts(db)
        has_vector = f"c.id IN (SELECT rowid FROM {STATIC_TABLE}_rowids)" if facts.has_static else "false"
        chunks, embedded = db.execute(
            f"""SELECT count(*), coalesce(sum({has_vector}), 0) FROM files f JOIN chunks c ON c.file_id = f.id
                WHERE f.id IN (SELECT id FROM files WHERE {where})""",
            given,
        ).fetchone() or (0, 0)
        original, share, changed = None, 0.0, False
        if not directory:
            copy = db.execute("SELECT original, share FROM copies WHERE path = ?", given).fetchone()
            original, share = copy or (None, 0.0)
            changed = _is_changed(absolute, *rows[0][:3])
        return IndexedFiles(
            files=len(rows),
            chunks=int(str(chunks)),
            embedded=int(str(embedded)),
            indexed_at=max(str(row[3]) for row in rows),
            changed_since=changed,
            generation=facts.generation,
            original=original,
            copied=share,
        )


def _is_changed(file: Path, content_hash: object, size: object, mtime_ns: object) -> bool:
    try:
        status = file.lstat()
        if (status.st_size, status.st_mtime_ns) == (size, mtime_ns):
            return False
        # The text is compared, because the index stores no time for a file that was read just after a write,
        # and a file's time may change while its text does not.
        return status.st_size != size or bytes.fromhex(content_key(read_text(file) or "")) != content_hash
    except OSError:
        return True


def _state(reader: IndexReader, decision: Decision, in_index: IndexedFiles | None, directory: bool) -> str:
    if not reader.generation():
        if (reader.folder / DATABASE_NAME).exists():
            return "the index cannot be read now; `cairn doctor` says why"
        return "the folder is not indexed yet; run `cairn index`"
    if directory:
        if in_index is None:
            return "the index has nothing of it"
        files, chunks = counted(in_index.files, "file"), counted(in_index.chunks, "chunk")
        return f"{files}, {chunks}, {in_index.embedded} with a vector"
    if in_index is None:
        if not decision.indexed:
            return "the index does not have it"
        return "not read yet; `cairn index` reads it, and so does an editor that has the folder open"
    chunks = counted(in_index.chunks, "chunk")
    known = f"{chunks}, {in_index.embedded} with a vector, read at {in_index.indexed_at}"
    if in_index.original:
        known += (
            f"; {in_index.copied:.0%} of its lines are also in other files, most in {in_index.original},"
            " so it ranks below these"
        )
    if not in_index.chunks:
        known = f"its name alone, read at {in_index.indexed_at}"
    if decision.rule.startswith(UNREADABLE):
        return f"{known}; kept until it can be read again"
    if not decision.indexed and in_index.chunks:
        return f"{known}; the next scan of the folder removes it"
    return f"{known}; changed since then" if in_index.changed_since else known
