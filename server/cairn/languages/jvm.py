"""Java, Groovy, Kotlin and Scala: a type is visible in its package, and after a star import."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from cairn.languages.imports import Import, Module, compiled, imports_of_types, slashed
from cairn.languages.language import Language, Scoping, Visibility
from cairn.languages.syntax import NamedNode, Node, Syntax, called, find, named, text_of, type_of, value

_JAVA = Syntax(
    {
        "class_declaration record_declaration": "class",
        "interface_declaration annotation_type_declaration": "interface",
        "enum_declaration": "enum",
        "method_declaration": "method",
        "constructor_declaration compact_constructor_declaration": "constructor",
        "field_declaration constant_declaration": value("field", "declarator", "name"),
    },
    wrappers="enum_body_declarations",
)


def _groovy_function(node: Node) -> NamedNode | None:
    kind = "test" if type_of(find(node, "function")) == "quoted_identifier" else "function"
    return NamedNode(text_of(node, "function").strip("\"'"), kind, node)


_GROOVY = Syntax(
    {
        "class_definition": named("class", kinds={"interface": "interface"}),
        "declaration": value("variable", "name"),
        "function_declaration function_definition": _groovy_function,
    }
)


def _kotlin_function(node: Node) -> NamedNode | None:
    name = find(node, "name")
    # The type before the name is the receiver of an extension function.
    receiver = name.prev_named_sibling if name is not None else None
    owner = ""
    if type_of(receiver) in ("user_type", "nullable_type"):
        owner = text_of(receiver).partition("<")[0].replace("?", "")
    return NamedNode(text_of(name), "method" if owner else "function", node, owner)


def _kotlin_property(node: Node) -> NamedNode | None:
    name = text_of(node, "variable_declaration", 0)
    constant = name.isupper() or "const" in text_of(node, "modifiers").split()
    return NamedNode(name, "constant" if constant else "property", node)


_KOTLIN = Syntax(
    {
        "object_declaration": "object",
        "class_declaration": named("class", kinds={"interface": "interface", "enum_class_body": "enum"}),
        "function_declaration": _kotlin_function,
        "secondary_constructor": called("constructor", "constructor"),
        "property_declaration": _kotlin_property,
        "type_alias": named("type", "identifier type_identifier"),
    },
    wrappers="companion_object class_body",
)


def _scala_value(node: Node) -> NamedNode | None:
    pattern = find(node, "pattern") or find(node, "name")
    name = text_of(pattern) if type_of(pattern) == "identifier" else ""
    # The names of constants are capitalised like those of types: `val Timeout = …`.
    return NamedNode(name, "constant" if name[:1].isupper() else "property", node)


def _scala_function(node: Node) -> NamedNode | None:
    """Recognise a function, also in `extension (s: String)`, where it belongs to the type of `s`."""
    around = node.parent
    owner = ""
    if type_of(around) == "extension_definition":
        extended = find(around, "parameters", "parameter", "type")
        owner = text_of(extended).partition("[")[0]
    return NamedNode(text_of(node, "name"), "method" if owner else "function", node, owner)


_SCALA = Syntax(
    {
        "class_definition": "class",
        "object_definition package_object": "object",
        "trait_definition": "trait",
        "enum_definition": "enum",
        "function_definition function_declaration": _scala_function,
        "type_definition": "type",
        "given_definition": "property",
        "val_definition var_definition val_declaration": _scala_value,
    },
    wrappers="extension_definition template_body with_template_body package_clause",
    leading="annotation",
)

_STATEMENT = (
    r"[ \t]*import[ \t]+(?:static[ \t]+)?[\w.`]+(?:\{[^}]{0,2000}\}|\*)?"
    r"(?:[ \t]*+,[ \t]*+[\w.]+(?:\{[^}\n]*\})?)*"
)
_IMPORT = (
    r"(?:import\s++)?(?:static\s++)?([\w.`]+?)(?:\.([*_])|\.\{([^}]*)\})?(?:\s++as\s++(\w+))?\s*+;?\s*+\Z"
)
_AS = r"([\w$]+|_|\*)\s*(?:(?:=>|as)\s*(\w+))?"


def _names(statement: str) -> Iterator[Import]:
    """`import a.b.C` adds `C` from `a/b/C`: the module includes the name of the class."""
    for part in compiled(r",(?![^{]*\})").split(statement.strip()):
        if (match := compiled(_IMPORT).match(part.strip())) is None:
            continue
        name, star, group, alias = match.groups()
        base = slashed(name)
        if group is not None:
            for member, other in compiled(_AS).findall(group):
                if member in ("_", "*"):
                    yield Import("*", Module("jvm", base))
                else:
                    yield Import(other or member, Module("jvm", f"{base}/{member}"), member)
        elif star:
            yield Import("*", Module("jvm", base))
        else:
            last = base.rpartition("/")[2]
            yield Import(alias or last, Module("jvm", base), last)


_IMPORTS = imports_of_types(
    "jvm", _STATEMENT, _names, namespace=r"[ \t]*package[ \t]+([\w.`]+)", foreign="javax?/"
)
_SCOPING = Scoping(Visibility.NAMESPACE, bare_members=True, override=0.5)

_JAVA_QUERIES = r"""
(identifier) @read
(type_identifier) @read
(field_access object: (_) @on field: (identifier) @read)
(scoped_type_identifier (type_identifier) @on . (type_identifier) @read)

(method_invocation name: (identifier) @call)
(method_invocation object: (_) @on name: (identifier) @call)
(method_reference (_) @on (identifier) @call .)
(object_creation_expression type: (type_identifier) @call)
(object_creation_expression type: (generic_type (type_identifier) @call))
(object_creation_expression type: (scoped_type_identifier (_) @on (type_identifier) @call .))

(superclass (type_identifier) @inherit)
(superclass (generic_type (type_identifier) @inherit))
(superclass (scoped_type_identifier (_) @on (type_identifier) @inherit .))
(type_list (type_identifier) @inherit)
(type_list (generic_type (type_identifier) @inherit))
(type_list (scoped_type_identifier (_) @on (type_identifier) @inherit .))
(marker_annotation name: (identifier) @decorate)
(annotation name: (identifier) @decorate)

(assignment_expression left: (field_access object: (_) @on field: (identifier) @write))
(assignment_expression left: (identifier) @write)

(import_declaration) @import

(method_declaration type: (_) @returns)

(lambda_expression) @closure

; Bindings
(type_parameter (type_identifier) @generic (type_bound) @type)
(formal_parameter type: (_) @type name: (identifier) @bind)
(spread_parameter (_) @item_type (variable_declarator name: (identifier) @bind))
(local_variable_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @bind))
(local_variable_declaration
  type: (type_identifier) @_var declarator: (variable_declarator name: (identifier) @bind value: (_) @value)
  (#eq? @_var "var"))
(field_declaration type: (_) @type declarator: (variable_declarator name: (identifier) @bind))
(enhanced_for_statement type: (_) @type name: (identifier) @bind)
(resource type: (_) @type name: (identifier) @bind)
(catch_formal_parameter (catch_type (_) @type) name: (identifier) @bind)
(inferred_parameters (identifier) @bind)
(lambda_expression parameters: (identifier) @bind)
(record_declaration parameters: (formal_parameters (formal_parameter type: (_) @type name: (identifier) @bind)))
(instanceof_expression right: (_) @type name: (identifier) @bind)
"""  # noqa: E501
_KOTLIN_QUERIES = r"""
(identifier) @read
(user_type (identifier) @read)
(navigation_expression (_) @on . (identifier) @read)

(call_expression . (identifier) @call)
(call_expression . (navigation_expression (_) @on . (identifier) @call))
(callable_reference (identifier) @read)
(infix_expression (_) . (identifier) @call . (_))

(delegation_specifier (constructor_invocation (user_type (identifier) @inherit)))
(delegation_specifier (user_type (identifier) @inherit))
(delegation_specifier (explicit_delegation (user_type (identifier) @inherit)))
(annotation (user_type (identifier) @decorate))
(annotation (constructor_invocation (user_type (identifier) @decorate)))

(assignment left: (identifier) @write)
(assignment left: (navigation_expression (_) @on . (identifier) @write))

(import) @import

(function_declaration (function_value_parameters) . (user_type) @returns)
(function_declaration (function_value_parameters) . (nullable_type) @returns)

(lambda_literal) @closure

; Bindings
(type_parameter (identifier) @generic (_) @type)
(type_constraint (identifier) @generic (_) @type)
(parameter (identifier) @bind . (_) @type)
(class_parameter (identifier) @bind . (_) @type)
(variable_declaration (identifier) @bind . (_) @type)
(property_declaration (variable_declaration (identifier) @bind .) . (_) @value)
(for_statement (variable_declaration (identifier) @bind) . (_) @item)
(lambda_parameters (variable_declaration (identifier) @bind))
(catch_block (identifier) @bind (_) @type)
"""
_SCALA_QUERIES = r"""
(identifier) @read
(type_identifier) @read
(field_expression value: (_) @on field: (identifier) @read)

(call_expression function: (identifier) @call)
(call_expression function: (field_expression value: (_) @on field: (identifier) @call))
(call_expression function: (generic_function function: (identifier) @call))
(call_expression function: (generic_function function: (field_expression value: (_) @on field: (identifier) @call)))
(instance_expression (type_identifier) @call)
(instance_expression (generic_type type: (type_identifier) @call))
(infix_expression left: (_) operator: (identifier) @call right: (_))

(extends_clause type: (type_identifier) @inherit)
(extends_clause type: (generic_type type: (type_identifier) @inherit))
(annotation name: (type_identifier) @decorate)

(assignment_expression left: (identifier) @write)
(assignment_expression left: (field_expression value: (_) @on field: (identifier) @write))

(import_declaration) @import

(function_definition return_type: (_) @returns)
(function_declaration return_type: (_) @returns)

(lambda_expression) @closure

; Bindings
(type_parameters name: (identifier) @generic bound: (upper_bound type: (_) @type))
(parameter name: (identifier) @bind type: (_) @type)
(class_parameter name: (identifier) @bind type: (_) @type)
(val_definition pattern: (identifier) @bind type: (_) @type)
(val_definition pattern: (identifier) @bind !type value: (_) @value)
(var_definition pattern: (identifier) @bind type: (_) @type)
(var_definition pattern: (identifier) @bind !type value: (_) @value)
(class_definition (modifiers) @_implicit
  class_parameters: (class_parameters . (class_parameter type: (_) @receiver)) (#match? @_implicit "implicit"))
(lambda_expression parameters: (identifier) @bind)
(enumerator . (identifier) @bind . (_) @item)
"""  # noqa: E501

JAVA = Language(
    "java",
    endings="jav java",
    syntax=_JAVA,
    queries=(_JAVA_QUERIES,),
    imports=_IMPORTS,
    scoping=_SCOPING,
    family="jvm",
)
GROOVY = Language(
    "groovy",
    endings="gradle groovy gvy",
    files="jenkinsfile",
    interpreters="groovy",
    syntax=_GROOVY,
    imports=_IMPORTS,
)
KOTLIN = Language(
    "kotlin",
    endings="kt ktm kts",
    interpreters="kotlin",
    syntax=_KOTLIN,
    queries=(_KOTLIN_QUERIES,),
    imports=_IMPORTS,
    scoping=evolve(_SCOPING, extends_types=True),
    family="jvm",
)
SCALA = Language(
    "scala",
    endings="mill sbt sc scala",
    interpreters="scala",
    syntax=_SCALA,
    queries=(_SCALA_QUERIES,),
    imports=_IMPORTS,
    scoping=evolve(_SCOPING, extends_types=True, runs_by_name=True),
    family="jvm",
)
