"""Single lines show a value, a definition, or the literal that made a message."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.retrieval.evidence_lines import (
    begins_test,
    defines_or_imports,
    import_lines,
    is_comment,
    message_match,
    prose_match,
    reads_option,
    uses,
    words_of_message,
)


@pytest.mark.parametrize(
    ("line", "is_use"),
    [
        ("def moor(ship):", False),
        ("    async def moor(ship):", False),
        ("func (h *Harbour) moor() {", False),
        ("pub(crate) fn moor() {", False),
        ("  private fun moor() {", False),
        ("defp moor(ship) do", False),
        ("macro_rules! moor {", False),
        ("class Moor:", False),
        ("type Moor struct {", False),
        ("struct moor {", False),
        ("#define MOOR 1", False),
        ("export default class Moor {", False),
        ("import moor", False),
        ("from harbour import moor", False),
        ("use crate::moor;", False),
        ("// moor(ship)", False),
        ("export { moor }", False),
        ("    moor(ship)", True),
        ("user = moor(ship)", True),
        ("users.moor(ship)", True),
        ("required = moor(ship)", True),
        ("external.moor(ship)", True),
        ("importer.moor(ship)", True),
        ("type(self).moor(ship)", True),
        ("return moor(function() {", True),
        ("struct ship *s = moor(berth);", True),
    ],
)
def test_a_definition_import_or_comment_is_not_a_use(line: str, is_use: bool) -> None:
    pattern = uses(["moor"])
    assert pattern
    assert not is_use or pattern.search(line)
    assert defines_or_imports(line) is not is_use


def test_a_use_has_the_whole_name() -> None:
    pattern = uses(["moor", "leave()"])
    assert pattern
    assert not pattern.search("unmoor(moors, $moor)")
    assert pattern.search("harbour.leave() and wait")
    assert uses([]) is None


MESSAGE = "no free berth for ship Anna in harbour Porto"


@pytest.mark.parametrize(
    ("code", "matches"),
    [
        ('raise ValueError("no free berth for ship %s in harbour %s" % (ship, port))', True),
        ('raise ValueError(f"no free berth for ship {ship.name} in harbour {port}")', True),
        ('return fmt.Errorf("no free berth for ship %q in harbour %v", ship, port)', True),
        ('panic!("no free berth for ship {} in harbour {port:?}");', True),
        ("throw new Error(`no free berth for ship ${ship.name} in harbour ${port}`);", True),
        ('throw new Error("no free berth for ship " + ship + " in harbour " + port);', True),
        ('fatalError("no free berth for ship \\(ship.name) in harbour \\(port)")', True),
        ('raise "no free berth for ship #{ship.name} in harbour #{port}"', True),
        ('"no free berth "\n    "for ship {} in harbour {}".format(ship, port)', True),
        ('log("free berth")', False),
        ("no_free_berth_for_ship(in_harbour)", False),
        ('x = "the tide is high today in the north"', False),
        ("", False),
    ],
)
def test_a_literal_matches_its_message_with_any_values(code: str, matches: bool) -> None:
    found = message_match(words_of_message(MESSAGE), code)
    assert found >= 0.8 if matches else found == 0.0


def test_a_document_matches_by_the_words_that_it_cites() -> None:
    message = words_of_message(MESSAGE)
    assert prose_match(message, f"It says: {MESSAGE}.") == 1.0
    assert prose_match(message, "A ship in a harbour.") < 0.4
    assert prose_match([], MESSAGE) == 0.0


@pytest.mark.parametrize(
    "line",
    [
        "def test_moor():",
        "it('moors', () => {",
        "func TestMoor(t *testing.T) {",
        "#[tokio::test]",
        "    @Test",
        "TEST_F(Harbour, Moors) {",
        '  describe "mooring" do',
    ],
)
def test_a_test_begins_with_its_head(line: str) -> None:
    assert begins_test(line)
    assert not begins_test("moor_and_" + line.strip())


@pytest.mark.parametrize(
    "line",
    [
        'os.environ["PORT"]',
        "process.env.PORT",
        'parser.add_argument("--berths")',
        "HARBOUR_BERTHS",
        "options.berths",
    ],
)
def test_a_line_reads_an_option(line: str) -> None:
    assert reads_option(line)
    assert not reads_option("moor(ship)")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import os\nfrom port import (\n    Ship,\n    Berth,\n)\nx = 1", {0, 1, 2, 3, 4}),
        ('package port\n\nimport (\n\t"fmt"\n)\n\nfunc main() {\n}', {2, 3, 4}),
        ("import Port, {\n  moor,\n} from './port'\nuse(Port, () => {\n  moor()\n})", {0, 1, 2}),
        ("use port::{\n    Ship,\n};\npub use ship::Berth;\nfn moor() {}", {0, 1, 2, 3}),
        ("const { moor } = require('./port')\nconst port = moor()", {0}),
        ("#include <port.h>\nusing namespace port;\nusing (var ship = Moor()) {", {0, 1}),
    ],
)
def test_imports_have_the_lines_within_their_brackets(code: str, expected: set[int]) -> None:
    assert import_lines(code.split("\n")) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# moor", True),
        ("#moor", True),
        ("  // moor", True),
        ("/** Moors.", True),
        (" * the ship", True),
        (" */", True),
        ("-- moor", True),
        ('    """Moors."""', True),
        ("#define MOORED 1", False),
        ("# include <quay.h>", False),
        ("#[derive(Debug)]", False),
        ("#![allow(dead)]", False),
        ("*ship = moored;", False),
        ("moor()  # at once", False),
    ],
)
def test_a_comment_begins_with_its_sign(line: str, expected: bool) -> None:
    assert is_comment(line) is expected


READERS: list[Callable[[str], float]] = [
    begins_test,
    defines_or_imports,
    is_comment,
    reads_option,
    lambda line: message_match(["no", "free", "berth"], line),
    lambda line: message_match(["no", "free", "berth"], f'"{line}"'),
    lambda line: prose_match(["no", "free", "berth"], line),
]
PIECES = [
    "a", "  ", "\t", "a: ", "a = ", "a:b c=d,", "(", '"', '\\"', "'", "`\\", "a, ", "f(x){return a?b:c}", "#{", "\\(",  # noqa: E501
    "{a", "<a", "from ", "const ",
]  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("before", ["", " " * 30, "a =", "from ", '"'])
def test_minified_code_is_read_in_linear_time(before: str, piece: str) -> None:
    line = before + piece * (10_000 // len(piece))
    began = time.process_time()
    for read in READERS:
        read(line)
    # One pattern took over 2.5 s of CPU time when it was quadratic.
    assert time.process_time() - began < 1


@given(st.text())
def test_any_line_is_read(line: str) -> None:
    assert all(0 <= float(read(line)) <= 1 for read in READERS)
