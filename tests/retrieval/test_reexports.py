"""A name without a definition in the workspace leads to its re-exports."""

from __future__ import annotations

import pytest
from tests.retrieval.indexed_folder import FolderOf
from tests.retrieval.searching import search

from cairn.retrieval.legs import reexports


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("lib.rs", "pub use port::Berth;", True),
        ("lib.rs", "pub(crate) use port::{\n    Anchor,\n    Berth as Mooring,\n};", True),
        ("index.ts", "export { Anchor, Berth } from './port'", True),
        ("index.ts", "export type { Berth } from './port'", True),
        ("port.hpp", "using harbour::Berth;", True),
        ("port/__init__.py", "from .berths import Berth as Berth", True),
        ("port/__init__.py", "from .berths import (\n    Anchor,\n    Berth,\n)", True),
        ("lib.rs", "use port::Berth;", False),
        ("lib.rs", "pub use port::Berths;", False),
        ("lib.rs", "pub use port::Anchor;\nfn moor(berth: Berth) {}", False),
        ("index.ts", "import { Berth } from './port'", False),
        ("index.ts", "export { Anchor } from './port'\nconst a = new Berth()", False),
        ("port.hpp", "using Berth = int;", False),
        ("port/berths.py", "from .ports import Berth", False),
        ("port/__init__.py", "from .berths import Anchor\n\nberth = Berth()", False),
    ],
)
def test_a_reexport_differs_from_a_use(path: str, text: str, expected: bool) -> None:
    assert reexports("Berth", path, f"// A port.\n{text}\n") is expected


def test_a_reexport_comes_first_where_the_definition_is_missing(folder_of: FolderOf) -> None:
    uses = "use port_core::Berth;\n\nimpl Berth for Ship {\n    fn moor(&self) -> Berth { Berth }\n}\n"
    files = {
        "src/ship.rs": uses,
        "src/boat.rs": uses.replace("Ship", "Boat"),
        "src/port/mod.rs": "pub use port_core::Berth;\n",
    }
    folder = folder_of(files)

    def first() -> tuple[str, str]:
        best = search([folder.reader], "Berth")[0]
        return best.stored.path, best.source

    assert first() == ("src/port/mod.rs", "exact")
    folder.type("src/core.rs", "pub trait Berth {\n    fn moor(&self);\n}\n")
    assert first() == ("src/core.rs", "exact")
