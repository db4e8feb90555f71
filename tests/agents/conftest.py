"""Engines that have indexed a small project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from cairn.engine.engine import Engine
from tests.agents.asking import FILES, Ask, asking, indexed
from tests.data_folder import create_data_dir

GATES = """\
from functools import lru_cache


# Closes before the water is too high.
@lru_cache
def flood_gate(level):
    return level > 3


def close_gate(gate):
    gate.close()
    return gate
"""
LOCK = "def close_gate(lock):\n    return lock\n"
DOCK = "def fill_dock(water):\n    return water\n"
DOCKYARD = "export const dockyard = {\n  async launch(ship: string) {\n    return ship\n  },\n}\n"
DOCKS = (
    "CREATE FUNCTION port.fill_docks(water integer) RETURNS void LANGUAGE plpgsql AS $$\nBEGIN\n"
    + "".join(
        f"  UPDATE docks SET level = level + water WHERE number = {number} AND gate = 'closed';\n\n"
        for number in range(80)
    )
    + "END;\n$$;\n"
)
CAST_OFF = "ROPES=2\n\n# Let go of the ropes.\nlet_go() {\n    untie\n    haul_in\n}\n"
GATE_TESTS = "def close_gate(gate):\n    gate.open()\n    gate.close()\n    return gate\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an index for the tests that change neither."""
    root = tmp_path_factory.mktemp("answers")
    for path, text in FILES.items():
        (root / "harbour" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "harbour" / path).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAIRN_DATA_DIR", str(create_data_dir(root / "data")))
        yield root / "harbour"


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Engine]:
    made = indexed(folder)
    yield made
    made.stop()


@pytest.fixture
def ask(engine: Engine) -> Ask:
    return asking(engine)


@pytest.fixture
def own_engine(workspace: Path, bare_data_dir: Path) -> Iterator[Engine]:
    """An engine that has indexed the workspace, and does not index later changes."""
    (workspace / "src/harbour/gates.py").write_text(GATES)
    (workspace / "src/harbour/locks.py").write_text(LOCK)
    (workspace / "tests/test_gates.py").write_text(GATE_TESTS)
    for path in ("src/harbour/dock.py", "src/dock.py", "docs/cast_off.sh", "src/cast_off.sh"):
        (workspace / path).parent.mkdir(exist_ok=True)
        (workspace / path).write_text(CAST_OFF if path.endswith(".sh") else DOCK)
    (workspace / "src/dockyard.ts").write_text(DOCKYARD)
    (workspace / "src/crane.ts").write_text("export interface Crane {\n  lift(): void\n}\n")
    (workspace / "src/jib.ts").write_text(
        "import { Crane } from './crane'\n\nexport class Jib implements Crane {\n  lift() {}\n}\n"
    )
    (workspace / "src/docks.sql").write_text(DOCKS)
    charter = "".join(f"//! Rule {number} of the harbour.\n" for number in range(40))
    (workspace / "src/charter.rs").write_text(charter + "pub fn sign() {\n    ink();\n}\n" * 20)
    made = indexed(workspace)
    for each in made.folders:
        each.indexer.stop()
    yield made
    made.stop()
