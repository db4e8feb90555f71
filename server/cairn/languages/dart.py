"""Dart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cairn.languages.imports import FILES, Imports, Module, Places, by_line, pattern
from cairn.languages.language import Language
from cairn.languages.syntax import NamedNode, Node, Syntax, named, text_of


def _constructor(node: Node) -> NamedNode | None:
    """Name a constructor `Foo.named` by its last part."""
    names = [text_of(child) for child in node.named_children if child.type == "identifier"]
    return NamedNode(names[-1], "constructor", node) if names else None


_SYNTAX = Syntax(
    {
        "class_definition extension_type_declaration": "class",
        "extension_declaration": "extension",
        "enum_declaration": "enum",
        "function_signature": "function",
        "getter_signature setter_signature": "property",
        "mixin_declaration": named("class", "identifier"),
        "type_alias": named("type", "type_identifier identifier"),
        "constructor_signature constant_constructor_signature": _constructor,
        "factory_constructor_signature redirecting_factory_constructor_signature": _constructor,
        "static_final_declaration": named("constant", "identifier"),
        "initialized_identifier": named("variable", "identifier"),
    },
    wrappers=(
        "method_signature declaration static_final_declaration_list initialized_identifier_list class_body"
    ),
    leading="annotation const_builtin final_builtin late_builtin static type_identifier inferred_type",
    detached_bodies="function_body",
)

_IMPORT = r"[ \t]*(?:import|export|part)[ \t]+[\"']([^\"'\n]+)[\"']"


def _modules(text: str) -> Iterator[Module]:
    """`import "package:a/b.dart"` names a file of the package `a`, `import "c.dart"` a file beside."""
    for name in by_line(_IMPORT).findall(text):
        if name.startswith("package:"):
            yield Module("dart", name.removeprefix("package:"))
        elif ":" not in name:
            yield Module("file", f"{'' if name.startswith('.') else './'}{name}")


def _resolve(places: Places, folder: str, module: Module) -> Iterable[str | None]:
    package, _, rest = module.name.partition("/")
    declared = places.folder_of("dart", package, folder)
    return (places.relative(declared[0], f"lib/{rest}", ("",)) if declared else None,)


DART = Language(
    "dart",
    endings="dart",
    interpreters="dart",
    syntax=_SYNTAX,
    imports=Imports(
        _modules,
        resolvers={"dart": _resolve, **FILES},
        manifests={"pubspec.yaml": pattern("=dart", r"name:[ \t]*(\w+)")},
    ),
)
