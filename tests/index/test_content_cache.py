"""What is made of a whole index is made anew with every change of a small one, and now and then of a large one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from cairn.index.reader import content_cache
from cairn.index.reader.content_cache import MANY_CHUNKS, ContentCache
from cairn.index.store.meta import Facts


class Rig:
    """A value that counts how often it was made, of an index whose content and size are told."""

    def __init__(self, chunks: int) -> None:
        self.chunks, self.content, self.made = chunks, 0, 0
        self.kept: ContentCache[int] = ContentCache()

    def make(self) -> int:
        self.made += 1
        return self.made

    def get(self, make: Callable[[], int] | None = None, identity: str = "this") -> int:
        facts = Facts(content=self.content, chunks=self.chunks)
        return self.content_cache.get(identity, facts, make or self.make)

    def after_a_change(self) -> int:
        self.content += 1
        return self.get()


def test_of_a_small_index_it_is_made_with_every_change_and_no_more() -> None:
    rig = Rig(MANY_CHUNKS - 1)
    assert [rig.get(), rig.get(), rig.after_a_change(), rig.get(), rig.after_a_change()] == [1, 1, 2, 2, 3]


def test_of_a_large_index_it_may_be_of_a_moment_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(content_cache.time, "monotonic", lambda: now)
    rig = Rig(MANY_CHUNKS)
    assert [rig.get(), rig.after_a_change(), rig.after_a_change()] == [1, 1, 1]
    now += 10.1
    assert rig.get() == 2
    assert rig.get(identity="another") == 3


def test_what_takes_long_is_made_for_a_hundredth_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(content_cache.time, "monotonic", lambda: now)
    rig = Rig(MANY_CHUNKS)

    def slowly() -> int:
        nonlocal now
        now += 2.0
        return rig.make()

    assert rig.get(slowly) == 1
    now += 199.0
    assert rig.after_a_change() == 1
    now += 2.0
    assert rig.get() == 2


def test_of_a_large_index_a_single_thread_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1_000.0
    monkeypatch.setattr(content_cache.time, "monotonic", lambda: now)
    rig = Rig(MANY_CHUNKS)
    rig.get()
    rig.content, now = 1, now + 10.0
    begun, go_on = threading.Event(), threading.Event()

    def waits() -> int:
        begun.set()
        assert go_on.wait(60)
        return rig.make()

    maker = threading.Thread(target=rig.get, args=(waits,))
    maker.start()
    assert begun.wait(60)
    assert rig.get() == 1, "who comes meanwhile goes on with the one before"
    go_on.set()
    maker.join()
    assert (rig.get(), rig.made) == (2, 2)


def test_a_value_that_could_not_be_made_is_made_by_the_next_one() -> None:
    rig = Rig(10)

    def fails() -> int:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        rig.get(fails)
    assert rig.get() == 1


def test_of_a_small_index_who_waits_for_another_thread_takes_what_it_made() -> None:
    rig = Rig(10)
    begun, go_on = threading.Event(), threading.Event()

    def waits() -> int:
        begun.set()
        assert go_on.wait(60)
        return rig.make()

    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(rig.get, waits)
        assert begun.wait(60)
        second = threads.submit(rig.get)
        go_on.set()
        assert (first.result(), second.result()) == (1, 1)
