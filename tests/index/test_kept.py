"""A value computed from an index follows each change of a small index, and fewer of a large one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from cairn.index.reader import kept
from cairn.index.reader.kept import MANY_CHUNKS, Kept
from cairn.index.store.meta import Facts


class Rig:
    """A cached value that counts its computations, for an index of a given size and content."""

    def __init__(self) -> None:
        self.chunks, self.content, self.made = MANY_CHUNKS, 0, 0
        self.now = 1_000.0
        self.kept: Kept[int] = Kept()

    def make(self) -> int:
        self.made += 1
        return self.made

    def get(self, make: Callable[[], int] | None = None, identity: str = "this") -> int:
        facts = Facts(content=self.content, chunks=self.chunks)
        return self.kept.get(identity, facts, make or self.make)

    def after_a_change(self) -> int:
        self.content += 1
        return self.get()


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch) -> Rig:
    rig = Rig()
    monkeypatch.setattr(kept.time, "monotonic", lambda: rig.now)
    return rig


def test_small_index_updates_the_value_with_each_change(rig: Rig) -> None:
    rig.chunks = MANY_CHUNKS - 1
    assert [rig.get(), rig.get(), rig.after_a_change(), rig.get(), rig.after_a_change()] == [1, 1, 2, 2, 3]


def test_large_index_keeps_a_recent_value(rig: Rig) -> None:
    assert [rig.get(), rig.after_a_change(), rig.after_a_change()] == [1, 1, 1]
    rig.now += 10.1
    assert rig.get() == 2
    assert rig.get(identity="another") == 3


def test_slow_value_takes_a_hundredth_of_the_time(rig: Rig) -> None:
    def slowly() -> int:
        rig.now += 2.0
        return rig.make()

    assert rig.get(slowly) == 1
    rig.now += 199.0
    assert rig.after_a_change() == 1
    rig.now += 2.0
    assert rig.get() == 2


def test_large_index_computes_the_value_on_one_thread(rig: Rig) -> None:
    rig.get()
    rig.content, rig.now = 1, rig.now + 10.0
    begun, go_on = threading.Event(), threading.Event()

    def waits() -> int:
        begun.set()
        assert go_on.wait(60)
        return rig.make()

    maker = threading.Thread(target=rig.get, args=(waits,))
    maker.start()
    assert begun.wait(60)
    assert rig.get() == 1, "other threads use the previous value meanwhile"
    go_on.set()
    maker.join()
    assert (rig.get(), rig.made) == (2, 2)


def test_failed_computation_is_repeated(rig: Rig) -> None:
    def fails() -> int:
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        rig.get(fails)
    assert rig.get() == 1


def test_small_index_shares_the_value_of_another_thread(rig: Rig) -> None:
    rig.chunks = 10
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
