"""The tool `changes`: what a change touches, places that still use an old definition first."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import groupby

from attrs import field, frozen

from cairn import protocol
from cairn.agents.index_state import lacking
from cairn.agents.place_text import Paths, lines_text
from cairn.agents.tool_call import LEAST_TOKENS, MOST_TOKENS, Budget, ToolCall, fit, joined, largest_fitting
from cairn.protocol import ChangeKind
from cairn.schema.bounds import at_most, within
from cairn.text.counts import counted

TOKENS = 1_500
LIMIT = 10
"""How many entries each list has at most. Tests and companions after the first ones are seldom right."""
_STALE_SHARE, _CHANGED_SHARE = 3, 2
"""How many times as many stale uses and changed definitions are shown as entries of each other list, if not
everything fits."""
_SURE = 0.8
"""Places with at least this confidence are shown without their confidence."""
_LONGEST_CODE = 160
"""The maximum length of a shown line of code in characters. Only the place of a longer line is shown."""
_MOST_REASONS = 2
_MOST_MESSAGES = 4


@frozen
class ChangesArguments:
    """The arguments of `changes`. The last two are the protocol's own and are not listed."""

    base: str | None = field(default=None, metadata=at_most(chars=1_000))
    diff: str | None = field(default=None, metadata=at_most(chars=50_000_000))
    staged: bool = False
    max_tokens: int | None = field(default=None, metadata=within(LEAST_TOKENS, MOST_TOKENS))
    limit: int | None = field(default=None, metadata=within(0, 500))
    folder: str = ""

    def params(self, limit: int, prompt_tokens: int) -> protocol.ChangeParams:
        """Return the params of the method. Empty texts count as absent, since some models fill in all."""
        return protocol.ChangeParams(
            base=self.base or None,
            diff=self.diff or None,
            staged=self.staged,
            folder=self.folder,
            limit=limit if self.limit is None else self.limit,
            max_tokens=prompt_tokens,
        )


def changes_data(call: ToolCall, arguments: ChangesArguments) -> protocol.ChangeAnswer:
    usual = protocol.ChangeParams()
    tokens = usual.max_tokens if arguments.max_tokens is None else arguments.max_tokens
    answer: protocol.ChangeAnswer = call.request("change", arguments.params(usual.limit, tokens))
    return answer


def changes(call: ToolCall, arguments: ChangesArguments) -> str:
    """Return as many entries of each list as fit, the most telling ones first."""
    answer: protocol.ChangeAnswer = call.request("change", arguments.params(LIMIT, 0))
    budget = call.budget(arguments.max_tokens, TOKENS)
    texts = AnswerText(answer, call.paths)
    below = joined(*answer.messages[:_MOST_MESSAGES], lacking(call.asked, None, answer.index))
    for each in (*answer.dependents, *answer.companions):
        call.note_named(each.folder, each.path)
    return _fitting(texts, below, budget)


def _fitting(texts: AnswerText, below: str, budget: Budget) -> str:
    longest = texts.longest
    if budget.holds(*texts.sections(longest), below):
        return joined(*texts.sections(longest), below)
    foot = joined(below, f"More follows with a higher {budget.option}.")
    most = largest_fitting(longest, lambda most: budget.holds(*texts.sections(most), foot))
    if most:
        return joined(*texts.sections(most), foot)
    head, *sections = texts.sections(1)
    return fit(head, sections, lambda _: foot, budget)


@frozen
class AnswerText:
    """The text of an answer, with more or fewer entries of each list."""

    answer: protocol.ChangeAnswer
    paths: Paths

    @property
    def longest(self) -> int:
        """The length of the longest list."""
        answer = self.answer
        found = answer.changed, answer.dependents, answer.tests, answer.companions, answer.unreached
        return max(map(len, (*found, answer.commands)), default=0)

    def sections(self, most: int) -> list[str]:
        """Return a summary, and a text for each list that has entries, with at most `most` of them or, of the
        more important ones, some more."""
        answer, left = self.answer, self.answer.left_out
        stale, others = in_two(answer)
        said: set[str] = set()
        users = ([self._users(each, said) for each in _by_function(places)] for places in (stale, others))
        stale_texts, other_texts = users
        sections = (
            _section(STALE, stale_texts, _STALE_SHARE * most),
            _section(
                CHANGED, map(self._changed, answer.changed), _CHANGED_SHARE * most, left.get("changed", 0)
            ),
            _section(TESTS, map(self._named, answer.tests), most),
            _section("Run", map(run_text, answer.commands), most),
            _section(DEPENDENTS, other_texts, most, left.get("dependents", 0)),
            _section(COMPANIONS, map(self._companion, others_than_dependents(answer)), most),
            _section(UNREACHED, map(self._named, answer.unreached), most, left.get("unreached", 0)),
        )
        return [summary(answer), *filter(None, sections)]

    def _users(self, places: Sequence[protocol.ChangePlace], said: set[str]) -> str:
        """Return the first place of a function, and the lines of the others: `- src/berths.py:12 in
        Berth.leave: self.moor(ship)  (calls Berth.moor; also 15)`.

        `said` are the remarks of earlier places, which are not repeated beside code.
        """
        code = _code(places[0])
        remark = reasons_text(places[0])
        lines = ", ".join(str(each.range.start.line + 1) for each in places[1:])
        is_new = not code or remark not in said
        said.add(remark)
        remarks = "; ".join(filter(None, (remark if is_new else "", f"also {lines}" if lines else "")))
        return self._place(places[0], code, remarks)

    def _companion(self, place: protocol.ChangePlace) -> str:
        if place.kind != QUOTED:
            return self._named(place)
        return self._place(place, _code(place), reasons_text(place))

    def _place(self, place: protocol.ChangePlace, code: str, remark: str) -> str:
        around = f" in {place.symbol}" if place.symbol else ""
        return self._line(place, f"{around}{f': {code}' if code else ''}", remark)

    def _named(self, place: protocol.ChangePlace) -> str:
        """Return `- tests/test_berths.py:12 test_moor  (calls Berth.moor)`."""
        return self._line(place, f" {place.symbol}".rstrip(), reasons_text(place))

    def _line(self, place: protocol.ChangePlace, about: str, remark: str) -> str:
        shown = f"{self.paths.shown(place.folder, place.path)}:{place.range.start.line + 1}"
        return f"- {shown}{about}{f'  ({remark})' if remark else ''}"

    def _changed(self, each: protocol.ChangedDefinition) -> str:
        """Return `- src/berths.py:12-16 Berth.moor: new signature`, and the heads if these differ."""
        place = f"{self.paths.shown(each.folder, each.path)}:{lines_text(each.range)}"
        text = f"- {place} {each.symbol}".rstrip() + f": {happened(each)}"
        if each.before is None or each.before.line.strip() == each.line.strip():
            return text
        return f"{text}\n  was {each.before.line.strip()}\n  now {each.line.strip()}"


def _code(place: protocol.ChangePlace) -> str:
    """Return the line of a place as it is shown; "" if it is too long."""
    code = place.line.strip()
    return code if len(code) <= _LONGEST_CODE else ""


def _by_function(places: Sequence[protocol.ChangePlace]) -> list[list[protocol.ChangePlace]]:
    """Return the places in groups: neighbours in one function and with the same reasons."""

    def of_group(each: protocol.ChangePlace) -> Hashable:
        return each.folder, each.path, each.symbol, each.reasons, each.confidence

    return [list(group) for _, group in groupby(places, of_group)]


def _section(title: str, entries: Iterable[str], most: int, left_out: int = 0) -> str:
    """Return a list below its title; "" if it is empty. Its end says how many entries are missing, of which
    the answer itself has `left_out`."""
    texts = list(entries)
    left = max(0, len(texts) - most) + left_out
    end = [f"  and {left:,} more"] if left else []
    return "\n".join([f"{title}:", *texts[:most], *end]) if texts else ""


# --- what both the texts for agents and those of commands show --------------------------------------

STALE = "Still use the old definition"
CHANGED = "Changed"
DEPENDENTS = "Depend on it"
TESTS = "Tests to run"
COMPANIONS = "Usually change with it, and did not"
UNREACHED = "No test reaches"
QUOTED = "document"
"""The kind of companions whose line says why they belong here."""

_HAPPENED = {
    ChangeKind.REMOVED: "removed",
    ChangeKind.SIGNATURE: "new signature",
    ChangeKind.RENAMED: "renamed",
    ChangeKind.MOVED: "moved",
    ChangeKind.BODY: "changed",
    ChangeKind.ADDED: "new",
    ChangeKind.COMMENT: "comment only",
    ChangeKind.LINES: "lines outside of definitions",
}


def summary(answer: protocol.ChangeAnswer) -> str:
    """Return one sentence with the numbers of files and definitions; without any, that nothing changed."""
    since = f" since {answer.base[:8]}" if answer.base else ""
    if not answer.files:
        return f"Nothing changed{since}."
    left_out = answer.left_out.get("changed", 0)
    counts: dict[str, int] = {}
    for each in answer.changed:
        if each.symbol:
            counts[_HAPPENED[each.kind]] = counts.get(_HAPPENED[each.kind], 0) + 1
    definitions = counted(sum(counts.values()) + left_out, "definition")
    how = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    of_files = f"{counted(len(answer.files), 'file')} changed{since}"
    if not counts:
        return f"{of_files}, no definition."
    return f"{of_files}: {definitions}." if left_out else f"{of_files}: {definitions} ({how})."


def in_two(
    answer: protocol.ChangeAnswer,
) -> tuple[list[protocol.ChangePlace], list[protocol.ChangePlace]]:
    """Return the dependents that still use an old definition, and the others, except those in the tests to
    run."""
    stale = [each for each in answer.dependents if each.is_stale]
    tests = {(each.folder, each.path) for each in answer.tests}
    others = (each for each in answer.dependents if not each.is_stale)
    return stale, [each for each in others if (each.folder, each.path) not in tests]


def others_than_dependents(answer: protocol.ChangeAnswer) -> list[protocol.ChangePlace]:
    """Return the companions whose files are not among those of the dependents."""
    shown = {(each.folder, each.path) for each in answer.dependents}
    return [each for each in answer.companions if (each.folder, each.path) not in shown]


def happened(each: protocol.ChangedDefinition) -> str:
    """Return what happened to a definition, and how sure that is if it is not."""
    unsure = f"{each.confidence:.0%} sure" if each.confidence < _SURE else ""
    return "; ".join(filter(None, (*(each.reasons[:_MOST_REASONS] or (_HAPPENED[each.kind],)), unsure)))


def reasons_text(place: protocol.ChangePlace) -> str:
    """Return the strongest reasons, and the confidence if it is low."""
    unsure = f"{place.confidence:.0%} sure" if place.confidence < _SURE else ""
    return "; ".join(filter(None, (*place.reasons[:_MOST_REASONS], unsure)))


def run_text(each: protocol.TestCommand) -> str:
    """Return a command to copy, which changes to its folder first."""
    return f"cd {each.folder} && {each.command}" if each.folder else each.command
