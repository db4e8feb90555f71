"""Reports the status: indexing progress, contents of the indexes, and figures of the latest queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from cairn import protocol
from cairn.engine.completeness import awaited, emptiness, remaining
from cairn.engine.folders import Folder
from cairn.engine.request import Request
from cairn.index.indexing.folder_state import Activity
from cairn.index.indexing.indexer import Role
from cairn.index.queries.file_queries import binary_files
from cairn.index.sqlite.sqlite_reader import SqliteReader
from cairn.index.store.coordination import holder
from cairn.index.store.meta import Facts, static_key
from cairn.languages.registry import detect_language
from cairn.operations.health import DOING
from cairn.operations.kill_switch import OFF
from cairn.paths import workspace_dir
from cairn.startup.figures import percentile, resident_bytes
from cairn.text.counts import about, counted
from cairn.workspace.collections import TAGS

NOT_BEING_INDEXED = "The index is incomplete and no process is indexing. Run `cairn index`."
_UNINDEXED = "This folder is not indexed yet, and no process is indexing it. Run `cairn index`."
_OTHER_VERSION = (
    "Another version of Cairn indexes this folder: its vectors cannot be used."
    " Restart its editors and servers."
)
_AT_WORK = frozenset(
    {Activity.SCANNING, Activity.READING, Activity.STATIC, Activity.HISTORY, Activity.EMBEDDING}
)
_MOST_EXAMPLES = 3
_NOT_WRITING = frozenset({Role.FAILED, Role.STOPPED})


@frozen
class IndexingProgress:
    """The progress of indexing, over all folders."""

    activity: Activity
    """The activity of the first busy folder."""
    files_total: int
    files_done: int
    chunks: int
    texts_queued: int
    """The number of chunks that wait for a vector of the model in use."""
    texts_per_second: float
    seconds_left: float | None
    """The estimated seconds until all vectors are made; None if unknown."""
    scanned: bool
    """Whether a search by keywords covers every file."""
    complete: bool
    """Whether vectors, if enabled, also cover every file, and history and imports are counted."""
    answers_fully: bool
    """Whether a question has nothing to wait for, though `complete` may be false."""
    problem: str | None
    """Why the index cannot be written; None if it can."""

    def suffices(self, *, vectors: bool) -> bool:
        """Return whether a question has nothing to wait for; without `vectors`, it waits for files alone."""
        return self.answers_fully or (self.scanned and not vectors)

    @property
    def is_busy(self) -> bool:
        """Whether this process indexes or counts at this moment, so that `complete` comes soon."""
        return self.is_at_work or self.activity is Activity.COUNTING

    @property
    def is_paused(self) -> bool:
        return self.activity is Activity.PAUSED

    @property
    def is_at_work(self) -> bool:
        """Whether waiting makes sense: not while tidying, paused, failed, or checking a complete index."""
        checks = self.activity is Activity.CHECKING and not self.complete
        return self.problem is None and (checks or self.activity in _AT_WORK)

    @property
    def text(self) -> str:
        """A text for editors and terminals such as "1,200 of 4,969 files, 5,310 chunks"."""
        if self.activity is Activity.READING:
            total = self.files_total  # The total is 0 while it is unknown.
            files = f"{self.files_done:,} of {counted(total, 'file')}, " if total else ""
            return f"{files}{counted(self.chunks, 'chunk')}"
        if self.activity is Activity.EMBEDDING and self.texts_queued:
            return ", ".join([f"vectors: {counted(self.texts_queued, 'chunk')} left", *self.pace])
        if self.activity is Activity.PAUSED:
            return f"paused, {counted(self.texts_queued, 'chunk')} without a vector yet"
        return ", ".join(filter(None, (DOING.get(self.activity), counted(self.chunks, "chunk"))))

    @property
    def pace(self) -> list[str]:
        """The rate at which vectors are made, and the time that is left, as far as both are known."""
        rate = self.texts_per_second
        parts = [f"{rate:.0f}/s" if rate >= 1 else f"{60 * rate:.0f}/min"] if rate else []
        if self.seconds_left is not None:
            parts.append(about(self.seconds_left))
        return parts


def progress_of(folders: Sequence[Folder]) -> IndexingProgress:
    here = [folder.progress for folder in folders]
    facts = [folder.reader.facts() for folder in folders]
    doing = [_activity(folder, f) for folder, f in zip(folders, facts, strict=True)]
    busy = [activity for activity in doing if activity not in (Activity.IDLE, Activity.PAUSED)]
    left = [seconds for p in here if (seconds := p.seconds_left) is not None]
    missing, is_idle = remaining(folders, facts), all(folder.is_idle for folder in folders)
    return IndexingProgress(
        activity=next(iter(busy or doing), Activity.IDLE),
        files_total=sum(p.files_total or f.files_total for p, f in zip(here, facts, strict=True)),
        files_done=sum(map(_files_done, folders)),
        chunks=sum(f.chunks for f in facts),
        texts_queued=sum(_queued(f) for f in facts),
        texts_per_second=sum(p.texts_per_second for p in here if p.queued),
        seconds_left=sum(left) if left else None,
        scanned=is_idle and "files" not in missing,
        complete=is_idle and not missing,
        answers_fully=is_idle and not awaited(folders, facts),
        problem=next((f.problem for f in folders if f.role in _NOT_WRITING), None),
    )


def _files_done(folder: Folder) -> int:
    """Return how many files are indexed; in another process, only the index knows."""
    if folder.role is Role.READER:
        return folder.reader.stats().files_indexed
    return folder.progress.files_done


def other_writer(folders: Sequence[Folder]) -> str:
    """Return a text that names another process that indexes one of the folders; "" if there is none."""
    for folder in folders:
        if folder.role is Role.READER and folder.revision is None and folder.is_kept:
            known = holder(folder.data)
            return f"the process {known.pid} ({known.command})" if known else "another process"
    return ""


def collection_names(root: Path) -> list[str]:
    """Return the names of the collections in the index of a folder, open or not."""
    return sorted({stats.name for stats in SqliteReader(workspace_dir(root)).stats().collections})


def collections(request: Request, _: protocol.NoParams) -> tuple[protocol.CollectionInfo, ...]:
    """Answer `cairn/collections` for all folders."""
    return _collections(request.folders)


def _collections(folders: Sequence[Folder]) -> tuple[protocol.CollectionInfo, ...]:
    return tuple(
        protocol.CollectionInfo(
            name=stats.name,
            folder=folder.uri,
            kind=stats.kind,
            files=stats.files,
            chunks=stats.chunks,
            tags=TAGS.get(stats.kind, ()),
            created_at=stats.created_at,
            updated_at=stats.updated_at,
        )
        for folder in folders
        for stats in folder.reader.stats().collections
    )


def status(request: Request, _: protocol.NoParams) -> protocol.StatusAnswer:
    """Answer `cairn/status`."""
    return status_of(request)


def status_of(request: Request) -> protocol.StatusAnswer:
    folders, caller = request.folders, request.caller
    model, model_problem = request.host.model_in_use()
    stats = [folder.reader.stats() for folder in folders]
    facts = [each.facts for each in stats]
    phase, wanted = caller.phases(request.settings)
    retrieval = caller.switch.state()
    missing = remaining(folders, facts)
    waits = awaited(folders, facts)
    state = _state(folders, facts, waits, phase, wanted, model)
    abandoned = waits and any(folder.role is Role.READER and not folder.is_kept for folder in folders)
    problems = [
        *(folder.problem for folder in folders),
        _UNINDEXED if state == "starting" and abandoned else None,
        NOT_BEING_INDEXED if state == "degraded" and abandoned else None,
        model_problem,
        _OTHER_VERSION if model and any(_is_of_another_version(f, model) for f in facts) else None,
        retrieval.reason if phase < wanted else None,
        caller.problem,
    ]
    progress = progress_of(folders)
    present = sum(
        max(f.files_total, folder.progress.files_total) for f, folder in zip(facts, folders, strict=True)
    )
    return protocol.StatusAnswer(
        state=state,
        searchable=any(s.files_indexed for s in stats),
        generation=sum(f.generation for f in facts),
        phase=phase,
        files=protocol.FileCounts(present, sum(s.files_indexed for s in stats)),
        chunks=sum(f.chunks for f in facts),
        embedded=sum(_embedded(f) for f in facts if not (model and _is_of_another_version(f, model))),
        queued=sum(_queued(f) for f in facts),
        model=model,
        collections=_collections(folders),
        last_error=next(filter(None, problems), None),
        latency=protocol.Latency(
            p50=percentile(caller.latency.copy(), 0.5),
            p95=percentile(caller.latency.copy(), 0.95),
            cache_hits=caller.cache.hits,
            cache_misses=caller.cache.misses,
        ),
        memory=resident_bytes(),
        warnings=_warnings(request, facts),
        skipped=dict(sum((Counter(folder.progress.skipped) for folder in folders), Counter())),
        activity=progress.activity.value,
        static_embedded=sum(f.chunks - f.static_queued for f in facts if f.has_static),
        paused=any(f.paused for f in facts),
        texts_per_second=round(progress.texts_per_second, 1),
        seconds_left=None if progress.seconds_left is None else round(progress.seconds_left, 1),
        retrieval=protocol.RetrievalStatus(retrieval, caller.recent(folders[0])) if folders else None,
        remaining=missing,
        named_as_text=_named_as_text(folders),
    )


def _named_as_text(folders: Sequence[Folder]) -> protocol.ExcludedFiles:
    """Return the binary files that are named as text, in local folders."""
    here = [folder.reader.saved for folder in folders if folder.revision is None]
    paths = [path for reader in here for path in binary_files(reader) if detect_language(path)]
    return protocol.ExcludedFiles(len(paths), tuple(paths[:_MOST_EXAMPLES]))


def _warnings(request: Request, facts: Sequence[Facts]) -> tuple[str, ...]:
    """Return warnings about problems that do not stop answers. `facts` are those of the request's folders."""
    folders = request.folders
    return (
        *emptiness(folders, facts),
        *request.warnings,
        *(warning for folder in folders for warning in folder.settings.warnings()),
        *(folder.remark for folder in folders if folder.remark),
        *_weight_warnings(folders),
        *(warning for folder in folders for warning in folder.reader.overlay.warnings),
        *(folder.feedback.remark for folder in folders if folder.feedback.remark),
        *(f"not read: {place}" for folder in folders for place in folder.progress.unreadable),
        *(problem for folder in folders if (problem := folder.override.read().problem)),
        *(folder.log.problem for folder in folders if folder.log.problem),
    )


def figures_of(request: Request) -> dict[str, tuple[str, float]]:
    """Return the figures for the metrics of a server, over all folders, each with a description."""
    folders, retrieval = request.folders, request.caller.switch.state()
    stats = [folder.reader.stats() for folder in folders]
    facts = [each.facts for each in stats]
    return {
        "phase": ("The phase that searches are answered in; 0 is off", retrieval.phase),
        "phase_wanted": ("The phase that is asked for, by the settings or by hand", retrieval.wanted),
        "retrieval_enabled": ("Whether retrieval.enabled is on", request.settings.retrieval.enabled),
        "index_files": ("Files in the index", sum(each.files_indexed for each in stats)),
        "index_chunks": ("Chunks in the index", sum(f.chunks for f in facts)),
        "index_embedded_chunks": ("Chunks with a vector", sum(map(_embedded, facts))),
        "index_queued_chunks": ("Chunks that wait for a vector", sum(map(_queued, facts))),
        "index_generation": ("How often the index was changed", sum(f.generation for f in facts)),
        "index_complete": (
            "Whether every file is indexed and embedded",
            bool(facts) and all(f.complete for f in facts),
        ),
        "query_log_failures": (
            "Lines the log of questions lost",
            sum(folder.log.failures for folder in folders),
        ),
    }


def _state(
    folders: Sequence[Folder],
    facts: Sequence[Facts],
    waits: Sequence[str],
    phase: int,
    wanted: int,
    model: protocol.ModelInfo | None,
) -> str:
    """Return the state as the protocol names it. `model` is None if no model is usable."""
    roles = {folder.role for folder in folders}
    if not any(folder.settings().retrieval.enabled for folder in folders) or phase == OFF:
        return "disabled"
    if roles & _NOT_WRITING:
        return "degraded"
    if Role.STARTING in roles or not all(f.generation for f in facts):
        return "starting"
    if waits or not all(folder.is_idle for folder in folders):
        return "indexing" if all(folder.is_kept for folder in folders) else "degraded"
    has_vectors = model is not None and all(_compares(f, model) for f in facts)
    return "ready" if has_vectors and phase == wanted else "degraded"


def _compares(facts: Facts, model: protocol.ModelInfo) -> bool:
    return facts.static_key == static_key(model.id)


def _is_of_another_version(facts: Facts, model: protocol.ModelInfo) -> bool:
    """Return whether an index has vectors of another model, such as another version's."""
    return bool(facts.has_static and not _compares(facts, model))


def _embedded(facts: Facts) -> int:
    """Return the number of chunks with a vector."""
    return facts.chunks - facts.static_queued if facts.has_static else 0


def _queued(facts: Facts) -> int:
    return facts.static_queued if facts.has_static else 0


def _activity(folder: Folder, facts: Facts) -> Activity:
    if folder.role is not Role.READER:
        return folder.progress.activity
    if facts.paused or facts.complete:
        return Activity.PAUSED if facts.paused else Activity.IDLE
    return Activity.EMBEDDING if facts.scanned else Activity.READING


def _weight_warnings(folders: Sequence[Folder]) -> list[str]:
    """Warn about weights for signals that do not exist."""
    weights = {name: 0.0 for folder in folders for name in folder.settings().search.weights}
    if not weights:
        return []
    from cairn.retrieval.signals import weight_warnings  # This imports all of ranking.

    return weight_warnings(weights)
