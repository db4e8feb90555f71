"""What single lines show: a value, a definition, the literal that made a message."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cairn.retrieval.evidence_lines import (
    assigns,
    begins_test,
    defines_or_imports,
    has_number,
    is_comment,
    message_match,
    prose_match,
    reads_option,
    uses,
    words_of_message,
)


@pytest.mark.parametrize(
    "line",
    [
        "TIMEOUT = 30",
        "    timeout: float = 30.0,",
        "const maxBerths = 12;",
        'private static final String NAME = "port";',
        "#define MAX_BERTHS 12",
        "pub const MAX: usize = 12;",
        "  timeout: 30,",
        '  "timeout": 30',
        "enabled := true",
        "timeout = Duration.ofSeconds(5)",
        "'berths' => 12,",
    ],
)
def test_a_literal_value_is_an_assignment(line: str) -> None:
    assert assigns(line)


@pytest.mark.parametrize(
    "line",
    [
        "moor(ship)",
        "if ship == berth:",
        "return timeout",
        "# the timeout",
        "",
        "timeout",
        "use harbour::Berth;",
        "pub trait Ship: vessel::Vessel {",
        "std::vector<Ship> ships;",
    ],
)
def test_a_line_without_a_value_is_no_assignment(line: str) -> None:
    assert not assigns(line)


@pytest.mark.parametrize(
    "line",
    [
        "def moor(ship):",
        "    async def moor(ship):",
        "func (h *Harbour) moor() {",
        "pub(crate) fn moor() {",
        "  private fun moor() {",
        "defp moor(ship) do",
        "macro_rules! moor {",
        "class Moor:",
        "type Moor struct {",
        "struct moor {",
        "#define MOOR 1",
        "export default class Moor {",
        "import moor",
        "from harbour import moor",
        "use crate::moor;",
        "// moor(ship)",
        "export { moor }",
    ],
)
def test_a_definition_an_import_or_a_comment_is_no_use(line: str) -> None:
    assert defines_or_imports(line)


@pytest.mark.parametrize(
    "line",
    [
        "    moor(ship)",
        "user = moor(ship)",
        "users.moor(ship)",
        "required = moor(ship)",
        "external.moor(ship)",
        "importer.moor(ship)",
        "type(self).moor(ship)",
        "return moor(function() {",
        "struct ship *s = moor(berth);",
    ],
)
def test_a_call_is_a_use_whatever_its_line_begins_with(line: str) -> None:
    pattern = uses(["moor"])
    assert pattern
    assert pattern.search(line)
    assert not defines_or_imports(line)


def test_a_part_of_a_name_is_no_use() -> None:
    pattern = uses(["moor", "leave()"])
    assert pattern
    assert not pattern.search("unmoor(moors, $moor)")
    assert pattern.search("harbour.leave() and wait")
    assert uses([]) is None


MESSAGE = "no free berth for ship Anna in harbour Porto"


@pytest.mark.parametrize(
    "code",
    [
        'raise ValueError("no free berth for ship %s in harbour %s" % (ship, port))',
        'raise ValueError(f"no free berth for ship {ship.name} in harbour {port}")',
        'return fmt.Errorf("no free berth for ship %q in harbour %v", ship, port)',
        'panic!("no free berth for ship {} in harbour {port:?}");',
        "throw new Error(`no free berth for ship ${ship.name} in harbour ${port}`);",
        'throw new Error("no free berth for ship " + ship + " in harbour " + port);',
        'fatalError("no free berth for ship \\(ship.name) in harbour \\(port)")',
        'raise "no free berth for ship #{ship.name} in harbour #{port}"',
        '"no free berth "\n    "for ship {} in harbour {}".format(ship, port)',
    ],
)
def test_the_literal_of_a_message_matches_whatever_fills_it_in(code: str) -> None:
    assert message_match(words_of_message(MESSAGE), code) >= 0.8


@pytest.mark.parametrize(
    "code",
    [
        'log("free berth")',
        "no_free_berth_for_ship(in_harbour)",
        'x = "the tide is high today in the north"',
        "",
    ],
)
def test_code_without_the_literal_does_not_match(code: str) -> None:
    assert message_match(words_of_message(MESSAGE), code) == 0.0


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
def test_a_test_begins(line: str) -> None:
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
def test_an_option_is_read(line: str) -> None:
    assert reads_option(line)
    assert not reads_option("moor(ship)")


def test_numbers_of_names_do_not_count() -> None:
    assert has_number("limit = 30")
    assert not has_number("berth1 = harbour.v2")


PIECES = [
    "a",
    "  ",
    "\t",
    "a: ",
    "a = ",
    "a:b c=d,",
    "(",
    '"',
    '\\"',
    "'",
    "`\\",
    "a, ",
    "f(x){return a?b:c}",
    "#{",
    "\\(",
    "{a",
    "<a",
    "from ",
    "const ",
]


@pytest.mark.parametrize(
    "line",
    ["# moor", "#moor", "  // moor", "/** Moors.", " * the ship", " */", "-- moor", '    """Moors."""'],
)
def test_a_comment_is_told_by_its_sign(line: str) -> None:
    assert is_comment(line)


@pytest.mark.parametrize(
    "line",
    [
        "#define MOORED 1",
        "# include <quay.h>",
        "#[derive(Debug)]",
        "#![allow(dead)]",
        "*ship = moored;",
        "moor()  # at once",
    ],
)
def test_what_only_looks_like_a_comment_is_code(line: str) -> None:
    assert not is_comment(line)


READERS: list[Callable[[str], float]] = [
    assigns,
    begins_test,
    defines_or_imports,
    has_number,
    is_comment,
    reads_option,
    lambda line: message_match(["no", "free", "berth"], line),
    lambda line: message_match(["no", "free", "berth"], f'"{line}"'),
    lambda line: prose_match(["no", "free", "berth"], line),
]


@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("before", ["", " " * 30, "a =", "from ", '"'])
def test_a_line_of_minified_code_takes_no_time_with_its_length(before: str, piece: str) -> None:
    line = before + piece * (20_000 // len(piece))
    began = time.process_time()
    for read in READERS:
        read(line)
    # Some 0.05 s; with the square of the length one pattern took 10 and more. CPU time, which a busy machine does not stretch.
    assert time.process_time() - began < 2


@given(st.text())
def test_any_line_is_read(line: str) -> None:
    assert all(0 <= float(read(line)) <= 1 for read in READERS)
