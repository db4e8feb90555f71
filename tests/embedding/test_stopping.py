"""Stopping a batch that is running, from another thread."""

from __future__ import annotations

import threading
import time

import pytest

from cairn.embedding import Embedder, EmbeddingStoppedError, StopSwitch

LONG_CALL = ["word " * 300] * 64
"""64 calls of 256 tokens: seconds of work."""


def run_one(switch: StopSwitch, embedder: Embedder) -> None:
    """A model call whose caller looked at the switch a moment too early."""
    with switch.running() as options:
        embedder.embed_ids([[101, 2003, 102]], options)


def test_a_switch_ends_the_batch_in_progress(embedder: Embedder) -> None:
    switch = StopSwitch()
    rows = [[101, *[2003] * 254, 102]] * 16  # one model call of more than a quarter second
    started = threading.Event()
    ended: list[float] = []

    def run() -> None:
        try:
            with switch.running() as options:
                started.set()
                embedder.embed_ids(rows, options)
        except EmbeddingStoppedError:
            ended.append(time.perf_counter())

    began = time.perf_counter()
    embedder.embed_ids(rows)
    whole_call = time.perf_counter() - began
    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(10)
    asked = time.perf_counter()
    switch.set()
    thread.join()
    assert ended, "the call ran to its end"
    assert ended[0] - asked < whole_call / 2


def test_a_switch_that_is_on_lets_nothing_start_until_it_is_cleared(embedder: Embedder) -> None:
    switch = StopSwitch()
    switch.set()
    with pytest.raises(EmbeddingStoppedError):
        embedder.embed(["tea"], 16, stop=switch)
    with pytest.raises(EmbeddingStoppedError):
        run_one(switch, embedder)
    switch.clear()
    assert embedder.embed(["tea"], 16, stop=switch).shape == (1, embedder.dimension)


def test_embedding_under_a_switch_ends_when_another_thread_turns_it_on(embedder: Embedder) -> None:
    switch = StopSwitch()
    outcome: list[type[BaseException]] = []

    def run() -> None:
        try:
            embedder.embed(LONG_CALL, 256, stop=switch)
        except EmbeddingStoppedError as stop:
            outcome.append(type(stop))

    thread = threading.Thread(target=run)
    thread.start()
    switch.set()
    thread.join(60)
    assert outcome == [EmbeddingStoppedError]


def test_another_failure_is_not_taken_for_a_stop() -> None:
    with pytest.raises(ValueError, match="broken"), StopSwitch().running():
        raise ValueError("broken")
