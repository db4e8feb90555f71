"""No modules import each other in a circle, not even for their types, so that each can be read by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "server" / "cairn"


def imported(statements: list[ast.stmt]) -> Iterator[str]:
    """Yield what is imported while a module is imported, and by its `if TYPE_CHECKING`."""
    for each in statements:
        if isinstance(each, ast.ImportFrom):
            yield from (f"{each.module}.{name.name}" for name in each.names)
            yield str(each.module)
        elif isinstance(each, ast.If | ast.Try):
            yield from imported([*each.body, *each.orelse])


def circle(package: Path) -> list[str]:
    """Return the modules of an import circle, each imported by the next; [] if there is none."""
    names = {
        ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): file
        for file in package.rglob("*.py")
    }
    imports = {
        name: set(imported(ast.parse(file.read_text()).body)) & names.keys() - {name}
        for name, file in names.items()
    }
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as problem:
        return list(problem.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(PACKAGE) == []


def test_circle_of_imports_for_types_is_found(tmp_path: Path) -> None:
    package = tmp_path / "boats"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "hull.py").write_text("from boats.mast import Mast\n")
    (package / "mast.py").write_text("if TYPE_CHECKING:\n    from boats import hull\n")
    assert set(circle(package)) == {"boats.hull", "boats.mast"}
