"""Passages that introduce a project or its part lead for overviews."""

from __future__ import annotations

import pytest
from tests.retrieval.passages.folder_with_passages import FolderOf

README = (
    "[![Build](https://ci.example/badge.svg)](https://ci.example)\n\nA planner for harbours: who moors where, and when.\n\n"  # noqa: E501
    "## Installation\n\nRun `make install`, which takes a minute.\n\n## License\n\nharbour is free software.\n"  # noqa: E501
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


def test_a_readme_introduces_its_own_folder(folder_of: FolderOf) -> None:
    assert folder_of(FILES).passages("what is harbour-tides")[0].stored.path == "plugins/README.md"


def test_the_verdict_gets_the_introductions(folder_of: FolderOf) -> None:
    strength = folder_of(FILES).strength("what is harbour")
    assert strength is not None
    assert {stored.path for _, stored in strength.introductions} == {"README.md", "pyproject.toml"}


def test_an_introduction_is_found_without_words_of_the_question(folder_of: FolderOf) -> None:
    parts = {
        f"src/harbour/harbour{n}.py": f'"""The harbour, part {n}: harbour."""\n\nharbour = {n}\n'
        for n in range(400)
    }
    quiet = {**FILES, **parts, "README.md": "A planner: who moors where, and when.\n"}
    assert "README.md" in [passage.stored.path for passage in folder_of(quiet).passages("what is harbour")]


def test_a_discovery_begins_with_introductions(folder_of: FolderOf) -> None:
    assert {*folder_of(FILES).discovered("what is harbour", 2)[:2]} == {"README.md", "pyproject.toml"}


def test_a_projects_upkeep_comes_after_its_introduction(folder_of: FolderOf) -> None:
    text = "# {}\n\nThe planner harbour and those who help with harbour.\n"
    files = {
        **FILES,
        "docs/contributing.md": text.format("Planner"),
        "docs/planner.md": text.format("Planner"),
    }
    paths = [passage.stored.path for passage in folder_of(files).passages("what is harbour")]
    assert "docs/planner.md" in paths
    assert "docs/contributing.md" not in paths[: paths.index("docs/planner.md")]
