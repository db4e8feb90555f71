"""Answers the methods that change state: feedback, indexing again, pauses, and the phase of retrieval."""

from __future__ import annotations

from pathlib import PurePosixPath

from cairn import protocol
from cairn.engine.folders import folders_named, path_inside, readers_with_unsaved
from cairn.engine.request import Request
from cairn.errors import InvalidRequestError
from cairn.index.store.coordination import RequestKind
from cairn.operations.control import write_override
from cairn.retrieval.query import understand
from cairn.text.words import stem

_MOST_COPIES = 8
"""The maximum number of files with the passage. The choice of a licence says nothing about its many files."""


def take_feedback(request: Request, params: protocol.FeedbackParams) -> protocol.FeedbackAnswer:
    """Answer `cairn/feedback`: store an action on a result, without a `path` for each file with the passage.

    Raise InvalidRequestError for a passage that no search finds, and FeedbackUnavailableError if the file
    cannot be written.
    """
    wanted = folders_named(request.folders, params.folder)
    learning = [folder for folder in wanted if folder.settings().search.feedback]
    if wanted and not learning:
        request.host.metrics.feedback(params.action.value)
        return protocol.FeedbackAnswer(kept=False)
    path = params.path
    holding = [
        (folder, paths)
        for folder, reader in zip(learning, readers_with_unsaved(learning), strict=True)
        if (paths := reader.files_with_chunk(params.content_hash, path))
    ]
    copies = [path for _, paths in holding for path in paths]
    if not copies:
        where = f"{path!r} holds" if path else "the workspace holds"
        raise InvalidRequestError(
            "contentHash",
            f"no passage of {params.content_hash!r} is what {where} now;"
            " search again and give one of the results",
        )
    if len(copies) > _MOST_COPIES:
        raise InvalidRequestError("path", f"is required: {len(copies)} files hold this passage")
    for folder, paths in holding:
        query = understand(params.query, settings=folder.settings().search)
        stems = frozenset(map(stem, query.terms))
        if not stems:
            raise InvalidRequestError("query", f"{params.query!r} has no words to learn from")
        folder.feedback.add(stems, paths, params.content_hash, params.action)
    request.host.metrics.feedback(params.action.value)
    return protocol.FeedbackAnswer(kept=True)


def reset_feedback(request: Request, params: protocol.ResetFeedbackParams) -> protocol.ResetFeedbackAnswer:
    """Answer `cairn/resetFeedback`. Raise InvalidRequestError for a folder that is not open."""
    wanted = folders_named(request.folders, params.folder)
    return protocol.ResetFeedbackAnswer(sum(folder.feedback.reset() for folder in wanted))


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
        folder.request_indexing(RequestKind.REINDEX, wanted)
    return protocol.ReindexAnswer(bool(folders))


def pause(request: Request, _: protocol.NoParams) -> protocol.PausedAnswer:
    """Stop making vectors and scanning folders until `resume`. Saved files are still indexed."""
    for folder in request.folders:
        folder.request_indexing(RequestKind.PAUSE)
    return protocol.PausedAnswer(True)


def resume(request: Request, _: protocol.NoParams) -> protocol.PausedAnswer:
    for folder in request.folders:
        folder.request_indexing(RequestKind.RESUME)
    return protocol.PausedAnswer(False)


def set_phase(request: Request, params: protocol.SetPhaseParams) -> protocol.PhaseState:
    """Answer `cairn/setPhase`, at once for all processes. Raise OverrideUnavailableError if that fails."""
    for folder in request.folders:
        write_override(folder.data, params.phase, by="cairn/setPhase")
    state = request.caller.switch.state()
    request.caller.on_change()
    return state
