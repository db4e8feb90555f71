"""The package has the names of all of its modules, and imports a module when one of its names is asked for."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from cairn import protocol


def test_every_class_can_be_had_from_the_package() -> None:
    for module in map(importlib.import_module, (f"cairn.protocol.{name}" for name in protocol._MODULES)):
        for name, found in vars(module).items():
            if isinstance(found, type) and found.__module__ == module.__name__ and not name.startswith("_"):
                assert getattr(protocol, name) is found


def test_what_it_does_not_have_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Searching'"):
        protocol.Searching  # type: ignore[attr-defined] # noqa: B018


def test_a_name_loads_no_more_than_its_own_module() -> None:
    code = (
        "import sys; from cairn import protocol; protocol.SearchParams; from cairn.protocol import status;"
        "print([m for m in ('search', 'status', 'stages', 'context') if f'cairn.protocol.{m}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['search', 'status']"
