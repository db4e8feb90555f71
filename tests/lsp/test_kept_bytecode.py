"""Bytecode of generated methods: made once, used by later starts, and never in the way."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import attr._make
import attrs
import pytest

from cairn.lsp import kept_bytecode as module
from cairn.lsp.kept_bytecode import kept_bytecode


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where bytecode is kept."""
    monkeypatch.setenv("CAIRN_DATA_DIR", str(tmp_path))
    yield tmp_path / "bytecode"
    assert "compile" not in vars(attr._make)


def make_class(name: str = "Point") -> type:
    """A class whose methods attrs writes: those for comparing, hashing and printing too."""
    with kept_bytecode("test"):
        return attrs.make_class(name, {"x": attrs.field(), "y": attrs.field(default=2)}, frozen=True)


def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is compiled from now on."""
    seen: list[str] = []

    def counting(source: str, filename: str, mode: str) -> object:
        seen.append(filename)
        return compile(source, filename, mode)

    monkeypatch.setattr(module, "compile", counting, raising=False)
    return seen


def works(point: type) -> bool:
    """Whether every kind of generated method does what it should."""
    one, same, other = point(1), point(1), point(1, 3)
    return one == same != other and hash(one) == hash(same) and repr(other) == "Point(x=1, y=3)"


def test_the_second_time_nothing_is_compiled_and_all_methods_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert works(make_class())
    seen = compiled(monkeypatch)
    assert works(make_class())
    assert seen == []
    assert [path.name.partition("-")[0] for path in folder.iterdir()] == ["test"]


def test_what_has_changed_is_compiled_anew_and_what_is_gone_is_not_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_class("Old")
    seen = compiled(monkeypatch)
    make_class("New")
    assert len(seen) == 1
    (kept,) = folder.iterdir()
    assert len(module._read(kept)) == 1


@pytest.mark.parametrize("damage", [b"", b"\0" * 100, b"cut"], ids=["empty", "zeros", "cut"])
def test_a_damaged_file_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    make_class()
    (kept,) = folder.iterdir()
    kept.write_bytes(kept.read_bytes()[:-10] if damage == b"cut" else damage)
    assert works(make_class())
    seen = compiled(monkeypatch)
    assert works(make_class())
    assert seen == []


@pytest.mark.skipif(
    sys.platform == "win32", reason="a file in place of the folder is refused otherwise there"
)
def test_a_folder_that_cannot_be_made_is_no_problem(folder: Path) -> None:
    folder.write_text("in the way")
    assert works(make_class())


def test_an_error_in_between_leaves_attrs_as_it_was(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), kept_bytecode("test"):
        _ = 1 / 0
    assert not folder.exists()
