"""Row: the pass that makes the transformer's vectors, compared with a bare onnxruntime loop over the same
texts.

Daemon and loop take turns of some seconds, each stopped while the other runs, so that other load on the
machine affects both.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psutil
from attrs import frozen

from engine.daemon import Daemon, all_files_indexed
from engine.figures import Figures, Options
from engine.index_file import IndexFile, opened
from engine.place import place_for

_SHARE = 0.9
_TURNS = 8
_TURN_SECONDS = 12.0
_PATIENCE = 900.0
_BARE_LOOP = Path(__file__).with_name("bare_loop.py")


@frozen
class Turn:
    """The work of one of the two in its turn."""

    texts: int
    seconds: float
    cpu: float


def transformer(options: Options) -> Figures:
    """Measure the texts per second of both, and the median over the turns of their ratio."""
    with (
        place_for(options.corpus, options.data, fresh=True) as place,
        Daemon(place.tree, place.data, options.settings(embedding=True)) as daemon,
        BareLoop() as loop,
    ):
        daemon.wait_until(all_files_indexed, _PATIENCE, every=0.5)
        pairs: list[tuple[Turn, Turn]] = []
        with opened(place.data) as index:
            _next_commit(index)  # The model is loaded now.
            for _ in range(options.runs or _TURNS):
                after, last_id, turn = _daemon_turn(daemon, index)
                daemon.process.suspend()
                pairs.append((turn, loop.turn(list(index.embedded_chunks(after, last_id)))))
                daemon.process.resume()
        daemon.kill()
    by_time = [mine.texts / mine.seconds / (bare.texts / bare.seconds) for mine, bare in pairs]
    by_cpu = [mine.texts / mine.cpu / (bare.texts / bare.cpu) for mine, bare in pairs]
    ratio, cpu_ratio = statistics.median(by_time), statistics.median(by_cpu)
    return {
        "ratio": round(ratio, 3),
        "ratio_by_cpu_time": round(cpu_ratio, 3),
        "texts_per_s": round(statistics.median(mine.texts / mine.seconds for mine, _ in pairs), 1),
        "bare_texts_per_s": round(statistics.median(bare.texts / bare.seconds for _, bare in pairs), 1),
        "texts": sum(mine.texts for mine, _ in pairs),
        "turns": [round(value, 3) for value in by_time],
        "met": min(ratio, cpu_ratio) >= _SHARE,
    }


def _daemon_turn(daemon: Daemon, index: IndexFile) -> tuple[int, int, Turn]:
    """Run from a commit of vectors to the first after the turn's length; return both embedding ids."""
    after, began = _next_commit(index)
    cpu = daemon.cpu()
    last_id, ended = after, began
    while ended - began < _TURN_SECONDS:
        last_id, ended = _next_commit(index)
    return after, last_id, Turn(last_id - after, ended - began, daemon.cpu() - cpu)


def _next_commit(index: IndexFile) -> tuple[int, float]:
    """Wait until there are more vectors; return the last one's id and the time."""
    before = index.last_embedded()
    deadline = time.perf_counter() + _PATIENCE
    while (last := index.last_embedded()) == before:
        if time.perf_counter() > deadline:
            raise TimeoutError("the daemon makes no vectors")
        time.sleep(0.003)
    return last, time.perf_counter()


class BareLoop:
    """A process that uses only onnxruntime, the tokenizer and the caps."""

    def __enter__(self) -> BareLoop:
        self._process = psutil.Popen(
            [sys.executable, str(_BARE_LOOP)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._process.stdout.readline()  # It has loaded the model.
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait(60)

    def turn(self, chunks: list[tuple[object, ...]]) -> Turn:
        """Embed the texts of these chunks (path, collection and the columns of a chunk, each)."""
        from cairn.chunking.composite import composite_text
        from cairn.index.store.rows import chunk_from_row
        from cairn.protocol.chunk_type import ChunkType
        from cairn.settings.tree import EmbeddingSettings

        settings = EmbeddingSettings()
        texts = []
        for path, collection, *columns in chunks:
            chunk = chunk_from_row(columns)
            cap = settings.code_tokens if chunk.type is ChunkType.CODE else settings.text_tokens
            texts.append((cap, composite_text(str(path), str(collection), chunk)))
        self._process.stdin.write(json.dumps(texts) + "\n")
        self._process.stdin.flush()
        seconds, cpu = json.loads(self._process.stdout.readline())
        return Turn(len(texts), seconds, cpu)
