"""Shared parts of the tests of embedding."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import strategies as st

from cairn.embedding.packaged import load_packaged
from cairn.embedding.static import StaticTable

# Hypothesis's own text rarely has lone surrogates.
ANY_TEXT = st.lists(st.characters() | st.integers(0xD800, 0xDFFF).map(chr), max_size=60).map("".join)


def run_python(code: str, *arguments: object) -> str:
    """Return the standard output of `code` in a new interpreter."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="session")
def static_table() -> StaticTable:
    return load_packaged()
