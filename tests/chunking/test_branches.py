"""The branches, loops and closures around calls, in each language."""

from __future__ import annotations

import re

import pytest

from cairn.chunking.branches import branches, parsed

_CALL = re.compile(r"\b(?P<name>[a-z]\d?)\(")

PYTHON = """\
def f(x):
    if a(x):
        b()
    elif c():
        d()
    else:
        e()
    for i in g(): h()
    while i(): j()
    try:
        k()
    except KeyError as z:
        l()
    finally:
        m()
    match x:
        case 1: n()
    o() if p() else q()
    [r(i) for i in s()]
    run(lambda y: t(y))
    if not x: raise u()
    if this_condition_is_longer_than_forty_characters: v()
"""
CURLY = """
  if (a(x)) { b(); } else if (c()) { d(); } else { e(); }
  while (i()) { j(); }
  do { w(); } while (y());
  try { k(); } catch (E z) { l(); } finally { m(); }
  switch (x) { case 1: n(); break; default: q(); }
"""
OF_CURLY = {
    "a": "", "b": "if a(x)", "c": "else", "d": "else if c()", "e": "else", "i": "", "j": "while i()",
    "w": "loop", "y": "", "k": "try", "l": "catch E z", "m": "finally", "n": "case 1", "q": "default",
}  # fmt: skip

SAMPLES = {
    "python": (PYTHON, {
        "a": "", "b": "if a(x)", "c": "", "d": "else if c()", "e": "else", "g": "", "h": "for i in g()",
        "i": "", "j": "while i()", "k": "try", "l": "except KeyError as z", "m": "finally", "n": "case 1",
        "o": "if p()", "p": "", "q": "else", "r": "for i in s()", "s": "", "t": "in run",
        "u": "if not x › raise", "v": "if this_condition_is_longer_than_forty_…",
    }),
    "java": (
        f"class C {{ void f(int x) {{ {CURLY} for (int i : g()) {{ h(); }} xs.each(y -> t(y)); }} }}",
        {**OF_CURLY, "g": "", "h": "for int i : g()", "t": "in each"},
    ),
    "csharp": (
        f"class C {{ void f(int x) {{ {CURLY} foreach (var i in g()) {{ h(); }} Run(z => t(z)); }} }}",
        {**OF_CURLY, "g": "", "h": "foreach var i in g()", "t": "in Run"},
    ),
    "typescript": (
        "function f(x) {" + CURLY.replace("(E z)", "(z)")
        + "for (const i of g()) { h() } xs.map((y) => t(y)); r2() ? o() : p() }",
        {**OF_CURLY, "l": "catch z", "g": "", "h": "for const i of g()", "t": "in map", "o": "if r2()",
         "p": "else"},
    ),
    "cpp": (
        "void f(int x) {" + CURLY.replace("finally { m(); }", "") + "for (auto i : g()) { h(); } }",
        {**{name: each for name, each in OF_CURLY.items() if name != "m"}, "g": "", "h": "for auto i : g()"},
    ),
    "c": (
        "void f(int x) { if (a(x)) { b(); } else e(); for (int i=0;i<1;i++) h(); while (i()) j(); }",
        {"a": "", "b": "if a(x)", "e": "else", "h": "for int i=0;i<1;i++", "i": "", "j": "while i()"},
    ),
    "go": (
        "package m\nfunc f(x int) { if z := a(x); z { b() } else if c() { d() } else { e() }\n"
        "for _, i := range g() { h() }\nswitch x { case 1: n(); default: q() }\n"
        "select { case <-o(): p() }\ngo r()\ndefer s()\nrun(func() { t() }) }\n",
        {"a": "", "b": "if z", "c": "else", "d": "else if c()", "e": "else", "g": "",
         "h": "for _, i := range g()", "n": "case 1", "q": "default", "o": "", "p": "case <-o()", "r": "go",
         "s": "defer", "t": "in run"},
    ),
    "rust": (
        "fn f(x: i32) { if a(x) { b(); } else if c() { d(); } else { e(); }\n"
        "if let Some(y) = z() { w(); } for i in g() { h(); } loop { k()?; }\n"
        "match x { Cmd::A(z) => n(), _ => { q() } } xs.map(|y| t(y)); spawn(async move { s() }); }",
        {"a": "", "b": "if a(x)", "c": "else", "d": "else if c()", "e": "else", "z": "",
         "w": "if let Some(y) = z()", "g": "", "h": "for i in g()", "k": "loop", "n": "case Cmd::A(z)",
         "q": "case _", "t": "in map", "s": "in spawn"},
    ),
    "kotlin": (
        "class C { fun f(x: Int) { if (a(x)) { b() } else if (c()) { d() } else e()\n"
        " for (i in g()) { h() }\n while (i()) j()\n try { k() } catch (z: E) { l() } finally { m() }\n"
        " when (x) { 1 -> n()\n else -> q() }\n launch { s() }\n } }",
        {"a": "", "b": "if a(x)", "c": "else", "d": "else if c()", "e": "else", "g": "", "h": "for i in g()",
         "i": "", "j": "while i()", "k": "try", "l": "catch z: E", "m": "finally", "n": "case 1", "q": "else",
         "s": "in launch"},
    ),
    "ruby": (
        "def f(x)\n if a(x)\n b()\n elsif c()\n d()\n else\n e()\n end\n unless g()\n h()\n end\n"
        " i() if j()\n begin\n k()\n rescue E => z\n l()\n ensure\n m()\n end\n case x\n when 1\n n()\n"
        " else\n q()\n end\n xs.each { |y| t(y) }\nend\n",
        {"a": "", "b": "if a(x)", "c": "", "d": "else if c()", "e": "else", "g": "", "h": "unless g()",
         "i": "if j()", "j": "", "k": "", "l": "rescue E => z", "m": "ensure", "n": "when 1", "q": "else",
         "t": "in each"},
    ),
}  # fmt: skip


def _position(text: str, at: int) -> tuple[int, int]:
    before = text[:at].encode()
    return before.count(b"\n"), len(before) - before.rfind(b"\n") - 1


@pytest.mark.parametrize("language", SAMPLES)
def test_calls_have_the_branches_around_them(language: str) -> None:
    text, expected = SAMPLES[language]
    function = text.index("f(")
    first = {match["name"]: match.start() for match in reversed(list(_CALL.finditer(text, function + 2)))}
    tree = parsed(language, text)
    assert tree is not None
    places = [(_position(text, first[name]), _position(text, function)) for name in expected]
    found = [" › ".join(each) for each in branches(tree, places)]
    assert dict(zip(expected, found, strict=True)) == expected


def test_the_function_itself_is_no_closure() -> None:
    text = "const f = (x) => { if (x) { a() } }\n"
    tree = parsed("typescript", text)
    assert tree is not None
    assert branches(tree, [((0, text.index("a()")), (0, 6))]) == [("if x",)]
