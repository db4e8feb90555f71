"""Configuration and languages without a grammar are cut by lines."""

from cairn.chunking.chunker import chunk_text
from cairn.chunking.outline import MAXIMUM


def test_configuration_is_named_after_its_section() -> None:
    section = "[{0}]\n" + "".join(f'option_{index} = "value {index}"\n' for index in range(45)) + "\n"
    text = section.format("server") + section.format("client")
    chunks = chunk_text("app.toml", text)
    assert [chunk.header_path for chunk in chunks] == ["server", "client"]
    assert chunks[0].title == "app.toml: server"


def test_all_parts_of_a_long_section_have_its_name() -> None:
    text = "[server]\n" + "".join(f'option_{index} = "value {index}"\n' for index in range(200))
    chunks = chunk_text("app.toml", text)
    assert len(chunks) > 2
    assert {chunk.header_path for chunk in chunks} == {"server"}


def test_yaml_and_json_are_cut_at_their_outermost_keys() -> None:
    steps = "".join(f"  step_{index}:\n    run: command number {index}\n" for index in range(28))
    chunks = chunk_text("ci.yml", f"build:\n{steps}test:\n{steps}")
    assert [chunk.header_path for chunk in chunks] == ["build", "test"]
    inner = ",\n".join(f'    "option {index}": "a value in words"' for index in range(30))
    chunks = chunk_text("a.json", f'{{\n  "server": {{\n{inner}\n  }},\n  "client": {{\n{inner}\n  }}\n}}\n')
    assert [chunk.header_path for chunk in chunks] == ["server", "client"]


def test_unknown_code_still_has_names() -> None:
    (chunk,) = chunk_text("ship.nim", "proc sail(knots: int): bool =\n  true\n\ntype Ship = object\n")
    assert (chunk.symbol, chunk.symbol_kind) == ("sail", "function")
    assert chunk.defines == ("sail", "Ship")
    assert chunk.signature == "proc sail(knots: int): bool ="


def test_minified_file_is_one_chunk_a_line() -> None:
    line = "var a=1;" * 1000 + "\n"
    assert [chunk.text for chunk in chunk_text("a.js", line * 3)] == [line] * 3


def test_code_far_from_its_grammar_is_cut_by_lines() -> None:
    # 300 bytes of it keep the Kotlin grammar busy for minutes.
    hostile = (
        "fn a() {}\n    x\n/*<script>\nfunction f() {\n    x\n\nclass A {\n\x0c#endif\nfunction f() {\n\0\n"
        "# a\n~~~\n.. code::\n\x0bx = 1;\n\u2028(fn a() {}\n*/é漢🎉\t#endif\nfunction f() {\n</script>"
        "/*// c\n'{/*```\n~~~\ndef f():\n```\nx = 1;\n\n\ufeff~~~\n#ifdef A\n\tdef f():\n*/\ud800<script>\n"
        "{fn a() {}\nfunction f() {\n# a\n\u2028/*é漢🎉def f():\n\n(\u2028#endif\n\x0b\t\n// c\n~~~\né漢🎉"
    )
    # This line of MUMPS, which shares an extension with Objective-C, keeps that grammar busy for minutes.
    other = ' S:$P(A,B,4)]"" RANK=$P(^C(79.4,$P(A,B,4),0),B,2)  ;---> RANK\n'
    # The scanner of Svelte reads the rest of this text for each token, which takes seconds.
    unread = "'-->\n" + "word " * 20 + "\n"
    for path, text in (("a.kts", hostile * 5), ("a.m", other * 20), ("a.svelte", unread * 300)):
        assert all(len(chunk.text) <= MAXIMUM for chunk in chunk_text(path, text))
