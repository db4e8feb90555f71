"""Answers `cairn/reindex`, `cairn/pause` and `cairn/resume`, which steer the folders' indexing threads."""

from __future__ import annotations

from pathlib import PurePosixPath

from cairn import protocol
from cairn.engine.folders import path_inside
from cairn.engine.request import Request
from cairn.errors import InvalidRequestError
from cairn.index.store.coordination import RequestKind


def reindex(request: Request, params: protocol.ReindexParams) -> protocol.ReindexAnswer:
    """Index a file, a directory or everything again. Raise InvalidRequestError for an unknown path."""
    path = path_inside(params.path or ".")
    if path is None:
        raise InvalidRequestError("path", f"{params.path!r} is not in the workspace folder")
    folders = [folder for folder in request.folders if params.folder in ("", folder.uri)]
    wanted = "" if path == PurePosixPath(".") else str(path)
    # The index may still contain a deleted file.
    affected = [f for f in folders if not wanted or f.has(path) or f.reader.page(wanted)]
    if folders and not affected:
        raise InvalidRequestError("path", f"there is no {params.path!r} in the workspace")
    for folder in affected:
        folder.indexer.request(RequestKind.REINDEX, wanted)
    return protocol.ReindexAnswer(bool(folders))


def pause(request: Request, _: protocol.NoParams) -> protocol.PausedAnswer:
    """Stop making vectors and scanning folders until `resume`. Saved files are still indexed."""
    for folder in request.folders:
        folder.indexer.request(RequestKind.PAUSE)
    return protocol.PausedAnswer(True)


def resume(request: Request, _: protocol.NoParams) -> protocol.PausedAnswer:
    for folder in request.folders:
        folder.indexer.request(RequestKind.RESUME)
    return protocol.PausedAnswer(False)
