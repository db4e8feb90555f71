"""The package exports the names of its modules, and imports a module when one of its names is used."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from cairn import protocol


def test_package_exports_every_class() -> None:
    for module in map(importlib.import_module, (f"cairn.protocol.{name}" for name in protocol._MODULES)):
        for name, found in vars(module).items():
            if isinstance(found, type) and found.__module__ == module.__name__ and not name.startswith("_"):
                assert getattr(protocol, name) is found


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Searching'"):
        protocol.Searching  # type: ignore[attr-defined] # noqa: B018


def test_name_imports_only_its_module() -> None:
    code = (
        "import sys; from cairn import protocol; protocol.SearchParams; protocol.StatusAnswer;"
        "print([m for m in ('search', 'status', 'stage', 'relation')"
        " if f'cairn.protocol.{m}_messages' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['search', 'status']"
