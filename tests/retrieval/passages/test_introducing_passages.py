"""The passages that introduce a project, or a part of it, lead where an overview is asked for."""

from __future__ import annotations

import pytest
from tests.retrieval.passages.conftest import FolderOf

README = (
    "[![Build](https://ci.example/badge.svg)](https://ci.example)\n\nA planner for harbours: who moors where, and when.\n\n"
    + (
        "## Installation\n\nRun `make install`, which takes a minute.\n\n## License\n\nharbour is free software.\n"
    )
)
FILES = {
    "README.md": README,
    "pyproject.toml": '[project]\nname = "harbour"\ndescription = "Plans moorings."\n',
    "plugins/README.md": "# harbour-tides\n\nTides for the harbour planner.\n",
    "CONTRIBUTING.md": "# Contributing\n\nharbour is a project that everybody may help with.\n",
    **{
        f"src/part{n}.py": f'"""The harbour, part {n}: harbour, harbour."""\n\nharbour = {n}\n'
        for n in range(30)
    },
}


@pytest.mark.parametrize(
    "question", ["what is harbour", "What is this project?", "give me an overview of the repository"]
)
def test_a_project_is_introduced_by_its_readme_and_its_manifest(folder_of: FolderOf, question: str) -> None:
    first = folder_of(FILES).passages(question)[:2]
    assert {passage.stored.path for passage in first} == {"README.md", "pyproject.toml"}
    assert {passage.reason for passage in first} == {"introduces it"}


def test_a_readme_says_what_its_own_folder_is(folder_of: FolderOf) -> None:
    assert folder_of(FILES).passages("what is harbour-tides")[0].stored.path == "plugins/README.md"


def test_an_introduction_is_kept_for_the_verdict(folder_of: FolderOf) -> None:
    strength = folder_of(FILES).strength("what is harbour")
    assert strength is not None
    assert {stored.path for _, stored in strength.introductions} == {"README.md", "pyproject.toml"}
