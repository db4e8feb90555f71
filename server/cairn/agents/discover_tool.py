"""The tool `discover`: the lines of files that answer a question, as many as fit into a budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import evolve, field, frozen

from cairn import protocol
from cairn.agents.index_state import NO_MATCH, lacking, verdict_text
from cairn.agents.place_text import Paths, lines_text, numbers_text
from cairn.agents.tool_call import (
    LEAST_TOKENS,
    MOST_TOKENS,
    Budget,
    Steps,
    ToolCall,
    fitted,
    joined,
    largest_fitting,
    require_none,
    steps_of,
)
from cairn.discovery.layout import MORE, by_file, file_text, places_text, tokens_for_places
from cairn.protocol.discovery_messages import MAX_SHOWN
from cairn.protocol.search_messages import PLACES
from cairn.schema.bounds import NOT_BLANK, at_most, within
from cairn.settings.discovery import FormatStyle, PromptRenderConfig
from cairn.text.ranges import ranges_of
from cairn.text.verbatim import lines_of

TOKENS = 900
"""The number of tokens of the first answer. Each further one has twice as many, up to `_MOST_USUAL_TOKENS`.
For 15 questions, real agents read 1.13 times the bytes of grep with a version that had 1,500, and 0.87 times
with one that had 900 and folded less (benchmarks/agents/real)."""
_MOST_USUAL_TOKENS = 8_000
_LEAST_ENGINE_TOKENS, _MOST_ENGINE_TOKENS = 100, 60_000
_FRAME = 60
"""The number of tokens of the prompt's fixed text, which an answer leaves out."""
_FOOT = 30
"""The number of tokens of the last line, which contains the cursor."""
_MOST_REPEATED = 8
"""The maximum number of places of earlier answers that an answer names."""
_SECTIONS_SHARE = 0.4
"""The maximum share of the budget for the sentences of an overview if excerpts follow."""
_PLAIN = PromptRenderConfig(format_style=FormatStyle.PLAIN)
_EVIDENCE = "\nEvidence\n\n"
_EXCERPTS = "Excerpts\n\n"
"""The headings of the prompt. If the question is what something is, the prompt begins with sentences."""


@frozen
class DiscoverArguments:
    """The arguments of `discover`. The last six are the protocol's own and are not listed."""

    query: str = field(metadata=at_most(pattern=NOT_BLANK))
    path: tuple[str, ...] = field(default=(), metadata=PLACES)
    max_tokens: int | None = field(default=None, metadata=within(LEAST_TOKENS, MOST_TOKENS))
    cursor: str = ""
    again: bool = False
    filter: protocol.DiscoverFilter = field(factory=protocol.DiscoverFilter)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] | None = None
    max_bullets: int | None = field(default=None, metadata=within(0, 1_000))
    format: FormatStyle | None = None
    config: dict[str, Any] = field(factory=dict)

    def params(self, tokens: int, shown: Sequence[protocol.ShownPlace]) -> protocol.DiscoverParams:
        """Return the params for a prompt of `tokens` tokens, from which the answer is written. The prompt
        does not repeat what is `shown`."""
        config = self.config
        given = config.get("render", {})
        if isinstance(given, dict):  # The engine reports other types.
            is_wrong = "maxPromptTokens" in given and self.tokens_wanted() is None
            ours = {"maxPromptTokens": tokens, "tokenizer": ""}
            config = {**config, "render": {**ours, **given} if is_wrong else {**given, **ours}}
        return evolve(self._params(FormatStyle.PLAIN, config), shown=tuple(shown))

    def params_as_given(self) -> protocol.DiscoverParams:
        config = self.config
        render = config.get("render", {})
        if self.max_tokens and isinstance(render, dict):
            config = {**config, "render": {**render, "maxPromptTokens": self.max_tokens}}
        return self._params(self.format, config)

    def _params(self, style: FormatStyle | None, config: dict[str, Any]) -> protocol.DiscoverParams:
        return protocol.DiscoverParams(
            query=self.query,
            include=self.include,
            exclude=self.exclude,
            max_bullets=self.max_bullets,
            format=style,
            filter=protocol.DiscoverFilter(self.path or self.filter.path),
            config=config,
        )

    def tokens_wanted(self) -> int | None:
        """Return the requested size of the answer in tokens, if any. Older clients set it in `config`."""
        if self.max_tokens:
            return self.max_tokens
        render = self.config.get("render")
        known = render.get("maxPromptTokens") if isinstance(render, dict) else None
        if not isinstance(known, int) or isinstance(known, bool):
            return None
        return known if LEAST_TOKENS <= known <= MOST_TOKENS else None


def discover_data(call: ToolCall, arguments: DiscoverArguments) -> protocol.DiscoverAnswer:
    require_none(arguments.cursor)
    answer: protocol.DiscoverAnswer = call.request("discover", arguments.params_as_given())
    return answer


def discover(call: ToolCall, arguments: DiscoverArguments) -> str:
    """Return the answer. Raise InvalidRequestError for an unknown path and for a wrong cursor."""
    places, left_out = call.places(arguments.path or arguments.filter.path)
    arguments = evolve(arguments, path=places)
    call.note_question(arguments.query)
    question = (arguments.query, sorted(places))
    steps = steps_of(arguments.cursor, *question)
    budget = call.budget(arguments.tokens_wanted(), min(_MOST_USUAL_TOKENS, TOKENS << len(steps)))
    tokens = min(_MOST_ENGINE_TOKENS, _engine_tokens(budget.tokens, arguments.query))
    shown = _shown_before(call, arguments, steps)
    answer: protocol.DiscoverAnswer = call.request("discover", arguments.params(tokens, shown))
    items, paths = answer.excerpts, call.paths
    files = list(by_file(items))
    texts = [
        file_text(of_file, _PLAIN, lambda each: paths.shown(each.folder, each.path)).rstrip("\n")
        for of_file in files
    ]
    further = _further(answer.elsewhere, paths, budget)
    head = left_out if steps else joined(left_out, _head(answer, bool(items)))
    if steps and not items:
        head = "Nothing further is found."
    leading = [] if steps else _leading(answer, paths, budget)
    below = lacking(call.asked, answer.retrieval, answer.index)
    repeated = _repeated(call, answer.repeated, paths)
    has_more = answer.has_more and answer.verdict.action != NO_MATCH

    def foot(count: int) -> str:
        fitting = max(0, min(len(texts), count - len(leading)))
        if fitting == len(texts) and not has_more:
            return joined(repeated, below)
        after = (*steps, (tokens, sum(map(len, files[:fitting]))))
        more = call.more(after, *question) if count else ""
        return joined(repeated, more, below)

    text, count = fitted(head, [*leading, *texts, *further], foot, budget)
    for place in answer.elsewhere:
        call.note_named(place.folder, place.path)
    for each in (excerpt for of_file in files[: max(0, count - len(leading))] for excerpt in of_file):
        call.note_shown(each.folder, each.path, each.range.start.line + 1, lines_of(each.text))
    return text


def _engine_tokens(tokens: int, query: str) -> int:
    """Return the budget of discovery. It includes the prompt's fixed text and the question."""
    return max(_LEAST_ENGINE_TOKENS, tokens + _FRAME + min(tokens, len(query)) // 4 - _FOOT)


def _shown_before(call: ToolCall, arguments: DiscoverArguments, steps: Steps) -> list[protocol.ShownPlace]:
    """Return the lines that the session has shown or, without one, those that the earlier answers contained.
    The engine has cached these unless the index changed."""
    if call.session is not None:
        session = call.shown_before(again=arguments.again and not steps)
        folders = {folder.uri: folder for folder in call.asked.folders}

        def uri_of(folder: str, path: str) -> str | None:
            return folders[folder].uri_of(path) if folder in folders else None

        return list(session.still_there(uri_of, call.asked.lines_now))[-MAX_SHOWN:]
    shown: list[protocol.ShownPlace] = []
    for tokens, count in steps:
        answer: protocol.DiscoverAnswer = call.request("discover", arguments.params(tokens, shown))
        shown += [protocol.ShownPlace(each.uri, each.range) for each in answer.excerpts[:count]]
    return shown


def _repeated(call: ToolCall, repeated: Sequence[protocol.ShownPlace], paths: Paths) -> str:
    """Return one line with the places that belong here and were shown by an earlier answer of the session."""
    if call.session is None or not repeated:
        return ""
    places: dict[str, set[int]] = {}
    for each in repeated[:_MOST_REPEATED]:
        for folder, path in call.asked.places_of(each.uri)[:1]:
            lines = range(each.range.start.line, each.range.end.line)
            places.setdefault(paths.shown(folder.uri, path), set()).update(lines)
    named = "; ".join(
        f"{path}:{','.join(numbers_text(first + 1, last) for first, last in ranges_of(lines))}"
        for path, lines in places.items()
    )
    return f"Shown above, and relevant here: {named} ({call.again})."


def _further(places: Sequence[protocol.NamedPlace], paths: Paths, budget: Budget) -> list[str]:
    """Return the places below a heading, by file."""
    texts = places_text(places, lambda each: paths.shown(each.folder, each.path))
    most = tokens_for_places(budget.tokens)
    count = largest_fitting(len(texts), lambda count: budget.count("\n".join(texts[:count])) <= most)
    return [f"{MORE}:\n{texts[0]}", *texts[1:count]] if count else []


def _head(answer: protocol.DiscoverAnswer, found: bool) -> str:
    return verdict_text(answer.verdict, found) or (
        "" if found or answer.bullets else "There is no evidence for that in the workspace."
    )


def _leading(answer: protocol.DiscoverAnswer, paths: Paths, budget: Budget) -> list[str]:
    """Return the cited sentences if the question is what something is, or if there are no excerpts."""
    heading = answer.answer_prompt.partition(_EXCERPTS)[0]
    if _EVIDENCE not in heading and answer.excerpts:
        return []
    bullets = [bullet for section in answer.plan.sections for bullet in section.bullets]
    by_score = sorted(range(len(bullets)), key=lambda place: -bullets[place].score)
    share, chosen = _SECTIONS_SHARE if answer.excerpts else 1.0, list[int]()
    for place in by_score:
        texts = [_sentence(bullets[each], paths) for each in [*chosen, place]]
        if budget.count("\n".join(texts)) <= share * budget.tokens:
            chosen.append(place)
    return [_sentence(bullets[place], paths) for place in sorted(chosen)]


def _sentence(bullet: protocol.Bullet, paths: Paths) -> str:
    folder = bullet.uri[: -len(bullet.path) - 1] if bullet.uri.endswith(bullet.path) else ""
    path = paths.shown(folder, bullet.path)
    return f"- {bullet.text} [{path}{f':{lines_text(bullet.range)}' if bullet.lines else ''}]"
