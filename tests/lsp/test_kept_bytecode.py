"""The cache of the bytecode of generated methods, which later starts use and which may be damaged."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import attr._make
import attrs
import pytest

from cairn.lsp import cached_bytecode as module
from cairn.lsp.bytecode_cache import cached_bytecode


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the cache."""
    monkeypatch.setenv("CAIRN_DATA_DIR", str(tmp_path))
    yield tmp_path / "bytecode"
    assert "compile" not in vars(attr._make)


def make_class(name: str = "Point") -> type:
    """Make a class with generated methods, including those for comparing, hashing and printing."""
    with cached_bytecode("test"):
        return attrs.make_class(name, {"x": attrs.field(), "y": attrs.field(default=2)}, frozen=True)


def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of all files that are compiled from now on."""
    seen: list[str] = []

    def counting(source: str, filename: str, mode: str) -> object:
        seen.append(filename)
        return compile(source, filename, mode)

    monkeypatch.setattr(module, "compile", counting, raising=False)
    return seen


def works(point: type) -> bool:
    """Return whether every kind of generated method works."""
    one, same, other = point(1), point(1), point(1, 3)
    return one == same != other and hash(one) == hash(same) and repr(other) == "Point(x=1, y=3)"


def test_second_start_compiles_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert works(make_class())
    seen = compiled(monkeypatch)
    assert works(make_class())
    assert seen == []
    assert [path.name.partition("-")[0] for path in folder.iterdir()] == ["test"]


def test_changed_methods_replace_old_ones(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_class("Old")
    seen = compiled(monkeypatch)
    make_class("New")
    assert len(seen) == 1
    (file,) = folder.iterdir()
    assert len(module._read(file)) == 1


@pytest.mark.parametrize("damage", [b"", b"\0" * 100, b"cut"], ids=["empty", "zeros", "cut"])
def test_damaged_file_is_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes) -> None:
    make_class()
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:-10] if damage == b"cut" else damage)
    assert works(make_class())
    seen = compiled(monkeypatch)
    assert works(make_class())
    assert seen == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows refuses it with another error")
def test_methods_work_without_a_folder_for_the_cache(folder: Path) -> None:
    folder.write_text("a file with the name of the folder")
    assert works(make_class())


def test_errors_restore_attrs(folder: Path) -> None:
    with pytest.raises(ZeroDivisionError), cached_bytecode("test"):
        _ = 1 / 0
    assert not folder.exists()
