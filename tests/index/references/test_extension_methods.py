"""Callers of extension methods are found, whether the workspace defines the extended type or not."""

from __future__ import annotations

import pytest
from tests.index.references.workspaces import Open, Workspace, callers, functions_of

EXTENSIONS = {
    "csharp": Workspace(
        "Texts.Shout",
        {
            "Texts.cs": "namespace P {\n  public class Ferry { }\n  public static class Texts {\n"
            "    public static string Shout(this string text) { return text; }\n"
            "    public static int Length(this string text) { return 1; }\n"
            "    public static string Shout(this Ferry ferry) { return null; }\n  }\n}\n",
            "App.cs": "namespace P {\n  class App {\n    Ferry ferry;\n    void Typed(string s) { s.Shout(); }\n"  # noqa: E501
            '    void Literal() { "a".Shout(); }\n    void Static() { Texts.Shout("a"); }\n'
            "    void Own() { ferry.Shout(); }\n    void Other(System.Guid g) { g.Shout(); }\n  }\n}\n",
        },
        {"App.cs App.Typed", "App.cs App.Literal", "App.cs App.Static", "App.cs App.Own"},
    ),
    "kotlin": Workspace(
        "shout",
        {
            "Texts.kt": "package p\n\nfun String.shout() = this\n",
            "App.kt": 'package p\n\nfun typed(s: String) {\n    s.shout()\n}\n\nfun literal() {\n    "a".shout()\n}\n'  # noqa: E501
            "\nfun other(n: Int) {\n    n.shout()\n}\n",
        },
        {"App.kt typed", "App.kt literal"},
    ),
    "swift": Workspace(
        "shout",
        {
            "Texts.swift": "extension String {\n    func shout() -> String {\n        return self\n    }\n}\n",  # noqa: E501
            "App.swift": "func typed(s: String) {\n    s.shout()\n}\n\nfunc other(n: Int) {\n    n.shout()\n}\n",  # noqa: E501
        },
        {"App.swift typed"},
    ),
    "swift: a protocol's method": Workspace(
        "shout",
        {
            "Texts.swift": "protocol Loud {\n}\n\nextension Loud {\n    func shout() {\n    }\n}\n\nextension String: Loud {\n}\n",  # noqa: E501
            "App.swift": "func typed(s: String) {\n    s.shout()\n}\n\nfunc other(n: Int) {\n    n.shout()\n}\n",  # noqa: E501
        },
        {"App.swift typed"},
    ),
    "rust": Workspace(
        "str.shout",
        {
            "src/lib.rs": "pub trait Ext { fn shout(&self) -> u32; }\nimpl Ext for str { fn shout(&self) -> u32 { 1 } }\n"  # noqa: E501
            "pub fn typed(s: &str) -> u32 { s.shout() }\npub fn owned(s: String) -> u32 { s.shout() }\n"
            'pub fn literal() -> u32 { "a".shout() }\npub fn other(n: u64) -> u32 { n.shout() }\n',
        },
        {"src/lib.rs typed", "src/lib.rs owned", "src/lib.rs literal"},
    ),
    "scala: an extension and an implicit class": Workspace(
        "shout",
        {
            "Texts.scala": "package p\n\nextension (s: String) def shout(n: Int): String = s\n",
            "App.scala": "package p\n\nobject App {\n  def typed(s: String) = s.shout(1)\n\n  def other(n: Int) = n.shout(1)\n}\n",  # noqa: E501
        },
        {"App.scala App.typed"},
    ),
    "scala: an implicit class": Workspace(
        "shout",
        {
            "Texts.scala": "package p\n\nobject Texts {\n  implicit class Rich(val s: String) {\n    def shout(n: Int): String = s\n  }\n}\n",  # noqa: E501
            "App.scala": "package p\n\nobject App {\n  def typed(s: String) = s.shout(1)\n\n  def other(n: Int) = n.shout(1)\n}\n",  # noqa: E501
        },
        {"App.scala App.typed"},
    ),
}


@pytest.mark.parametrize("workspace", EXTENSIONS.values(), ids=EXTENSIONS)
def test_extension_methods_have_callers(opened: Open, workspace: Workspace) -> None:
    assert functions_of(callers(opened(workspace.files), workspace.symbol)) == workspace.callers


def test_a_method_of_what_an_extension_returns_has_callers(opened: Open) -> None:
    folder = opened(
        {
            "Texts.kt": "package p\n\nclass Ferry {\n    fun moor() {}\n}\n\nfun String.ferry(): Ferry = Ferry()\n",  # noqa: E501
            "App.kt": "package p\n\nclass Car {\n    fun moor() {}\n}\n\nfun land(s: String) {\n    s.ferry().moor()\n}\n",  # noqa: E501
        }
    )
    assert functions_of(callers(folder, "Ferry.moor")) == {"App.kt land"}
