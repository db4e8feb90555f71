"""Tests that only repositories whose own files state permissive licences are used."""

from __future__ import annotations

from pathlib import Path

import pytest
from licences import LICENCE_FILE, licence_of
from repositories import open_repository

from tests.git_repository import GitRepository
from tests.training.licence_texts import APACHE, BSD, GPL, ISC, MIT, MPL, ZLIB


@pytest.mark.parametrize(
    ("text", "licence"),
    [(MIT, "MIT"), (APACHE, "Apache-2.0"), (BSD, "BSD"), (ISC, "ISC"), (ZLIB, "Zlib")],
)
def test_permissive_licences_are_known_by_their_text(text: str, licence: str) -> None:
    assert licence_of([text]) == licence


@pytest.mark.parametrize("mark", ["// ", " * ", "# "])
def test_a_text_may_stand_in_a_comment(mark: str) -> None:
    assert licence_of(["".join(f"{mark}{line}\n" for line in BSD.splitlines())]) == "BSD"


def test_all_of_several_permissive_licences_are_named() -> None:
    assert licence_of([MIT, APACHE]) == "MIT AND Apache-2.0"


@pytest.mark.parametrize("texts", [[GPL], [MPL], [MIT, GPL], [f"{MIT}\nThe console is under:\n{GPL}"]])
def test_another_licence_refuses_the_whole_repository(texts: list[str]) -> None:
    assert licence_of(texts) is None


@pytest.mark.parametrize("texts", [[], [""], ["Copyright 2019 The Harbour Authors. All rights reserved."]])
def test_missing_licence_is_not_permission(texts: list[str]) -> None:
    assert licence_of(texts) is None


@pytest.mark.parametrize(
    "name",
    [
        "LICENSE",
        "LICENCE.md",
        "license.txt",
        "LICENSE-APACHE",
        "MIT-LICENSE",
        "MIT-LICENSE.txt",
        "COPYING",
        "UNLICENSE",
    ],
)
def test_names_of_licence_files(name: str) -> None:
    assert LICENCE_FILE.fullmatch(name)


@pytest.mark.parametrize("name", ["README.md", "licensing.py", "main.c"])
def test_names_of_other_files(name: str) -> None:
    assert not LICENCE_FILE.fullmatch(name)


@pytest.mark.parametrize(
    ("files", "licence"),
    [
        ({"MIT-LICENSE": MIT}, "MIT"),
        ({"LICENSE-MIT": MIT, "LICENSE-APACHE": APACHE}, "Apache-2.0 AND MIT"),
        ({"LICENSE": MIT, "COPYING.console": GPL}, None),
        ({"README.md": MIT}, None),
    ],
    ids=["MIT-LICENSE", "both", "mixed", "none"],
)
def test_a_repository_has_the_licence_of_its_licence_files(
    tmp_path: Path, files: dict[str, str], licence: str | None
) -> None:
    GitRepository(tmp_path).commit("Found the harbour", {"main.c": "int main(void) { return 0; }\n", **files})
    assert open_repository("harbour/volume", tmp_path).licence() == licence
