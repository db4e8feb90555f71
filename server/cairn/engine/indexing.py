"""Handles `cairn/reindex`, `cairn/pause` and `cairn/resume`: what the folders' indexing threads are asked to do."""

from __future__ import annotations

from pathlib import PurePosixPath

from cairn import protocol
from cairn.engine.folders import path_inside
from cairn.engine.request import Request
from cairn.errors import InvalidRequestError
from cairn.index.store.requests import RequestKind


def reindex(request: Request, params: protocol.ReindexParams) -> protocol.ReindexAnswer:
    """Index every file anew, or a file, or what lies in a directory. Raises InvalidRequestError for any other path."""
    path = path_inside(params.path or ".")
    if path is None:
        raise InvalidRequestError("path", f"{params.path!r} is not in the workspace folder")
    folders = [folder for folder in request.folders if params.folder in ("", folder.uri)]
    wanted = "" if path == PurePosixPath(".") else str(path)
    # What is gone may be indexed still.
    knowing = [f for f in folders if not wanted or f.has(path) or f.reader.page(wanted)]
    if folders and not knowing:
        raise InvalidRequestError("path", f"there is no {params.path!r} in the workspace")
    for folder in knowing:
        folder.indexer.request(RequestKind.REINDEX, wanted)
    return protocol.ReindexAnswer(bool(folders))


def pause(request: Request, _: protocol.NoParams) -> protocol.PausedAnswer:
    """Make no vectors and look at no folder until `resume`; files that are saved are taken in all the same."""
    for folder in request.folders:
        folder.indexer.request(RequestKind.PAUSE)
    return protocol.PausedAnswer(True)


def resume(request: Request, _: protocol.NoParams) -> protocol.PausedAnswer:
    """Go on after `pause`."""
    for folder in request.folders:
        folder.indexer.request(RequestKind.RESUME)
    return protocol.PausedAnswer(False)
