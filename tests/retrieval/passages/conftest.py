"""Folders for tests of passages have vectors of the packaged static table."""

from __future__ import annotations

import pytest
from tests.retrieval.passages.folder_with_passages import FolderWithPassages


@pytest.fixture
def folder_class() -> type[FolderWithPassages]:
    return FolderWithPassages
