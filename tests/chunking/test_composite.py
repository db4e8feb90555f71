"""The text of a chunk that is embedded has its place and its most important words."""

from cairn.chunking.chunker import chunk_text
from cairn.chunking.composite import composite_text
from cairn.chunking.model import Chunk
from cairn.protocol.search_messages import ChunkType

_SOURCE = '''"""Berths of the port."""


class BerthPlan:
    """Assigns ships to berths. Each berth holds one ship."""

    def assign_ship(self, ship: Ship) -> Berth:
        return self._free.pop()
'''


def test_prose_is_embedded_with_its_place_and_its_text() -> None:
    section = "## Routing\n\nHow a request finds its handler."
    chunk = chunk_text("docs/guide.md", f"# Guide\n\nIntroduction to all the parts of it.\n\n{section}\n")[-1]
    assert composite_text("docs/guide.md", "harbour-docs", chunk) == (
        "Title: Routing\nSource: harbour-docs\nPath: docs/guide.md > Guide > Routing\n"
        f"Type: prose\n---\n{section}"
    )


def test_code_is_embedded_as_its_skeleton() -> None:
    (chunk,) = chunk_text("src/harbour/berth_plan.py", _SOURCE)
    text = composite_text("src/harbour/berth_plan.py", "harbour-source", chunk)
    assert text == (
        "src / harbour / berth plan\n"
        "BerthPlan assign_ship berth plan assign ship\n"
        "Assigns ships to berths. Each berth holds one ship.\n"
        "class BerthPlan"
    )


def test_code_without_names_is_embedded_by_its_first_lines() -> None:
    (chunk,) = chunk_text("setup.py", "from setuptools import setup\n\nsetup(packages=['harbour'])\n")
    assert "from setuptools import setup setup(packages" in composite_text("setup.py", "harbour", chunk)


def test_licence_is_not_embedded() -> None:
    text = '/* Copyright 2020 The Authors. All rights reserved. */\n\n#include <stdio.h>\n#include "ship.h"\n'
    (chunk,) = chunk_text("ship.c", text)
    assert "Copyright" not in composite_text("ship.c", "harbour", chunk)
    assert chunk.text == text


def test_configuration_is_embedded_with_its_text() -> None:
    (chunk,) = chunk_text("deploy/app.toml", "[server]\nport = 80\n")
    text = composite_text("deploy/app.toml", "harbour-config", chunk)
    assert text.startswith("Title: app.toml: server\n")
    assert "Type: config\n---\n[server]\nport = 80" in text


def test_every_chunk_has_text_to_embed() -> None:
    chunk = Chunk(position=0, start_line=0, end_line=1, text="}\n", type=ChunkType.CODE)
    assert composite_text("a.c", "x", chunk).strip()
