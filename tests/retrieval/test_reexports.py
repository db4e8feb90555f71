"""A name whose definition is elsewhere leads to what re-exports it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.retrieval.indexed_folder import IndexedFolder
from tests.retrieval.searching import search

from cairn.retrieval.legs import reexports


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("lib.rs", "pub use port::Berth;"),
        ("lib.rs", "pub(crate) use port::{\n    Anchor,\n    Berth as Mooring,\n};"),
        ("index.ts", "export { Anchor, Berth } from './port'"),
        ("index.ts", "export type { Berth } from './port'"),
        ("port.hpp", "using harbour::Berth;"),
        ("port/__init__.py", "from .berths import Berth as Berth"),
        ("port/__init__.py", "from .berths import (\n    Anchor,\n    Berth,\n)"),
    ],
)
def test_what_reexports_a_name(path: str, text: str) -> None:
    assert reexports("Berth", path, f"// A port.\n{text}\n")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("lib.rs", "use port::Berth;"),
        ("lib.rs", "pub use port::Berths;"),
        ("lib.rs", "pub use port::Anchor;\nfn moor(berth: Berth) {}"),
        ("index.ts", "import { Berth } from './port'"),
        ("index.ts", "export { Anchor } from './port'\nconst a = new Berth()"),
        ("port.hpp", "using Berth = int;"),
        ("port/berths.py", "from .ports import Berth"),
        ("port/__init__.py", "from .berths import Anchor\n\nberth = Berth()"),
    ],
)
def test_what_only_uses_a_name_does_not_reexport_it(path: str, text: str) -> None:
    assert not reexports("Berth", path, f"{text}\n")


def test_where_nothing_is_called_so_what_reexports_it_comes_first(tmp_path: Path) -> None:
    uses = "use port_core::Berth;\n\nimpl Berth for Ship {\n    fn moor(&self) -> Berth { Berth }\n}\n"
    files = {
        "src/ship.rs": uses,
        "src/boat.rs": uses.replace("Ship", "Boat"),
        "src/port/mod.rs": "pub use port_core::Berth;\n",
    }
    folder = IndexedFolder(tmp_path, files)

    def first() -> tuple[str, str]:
        best = search([folder.reader], "Berth")[0]
        return best.stored.path, best.source

    assert first() == ("src/port/mod.rs", "exact")
    folder.type("src/core.rs", "pub trait Berth {\n    fn moor(&self);\n}\n")
    assert first() == ("src/core.rs", "exact")
    folder.close()
