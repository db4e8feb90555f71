"""Prints the answers to questions on a terminal, and code with colours and the line numbers of its file."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text

from cairn.agents.place_text import Paths, lines_text
from cairn.agents.reference_tool import MOST, in_groups, meant, note_text, nothing_found, use
from cairn.agents.result_text import (
    Lines,
    Part,
    ResultText,
    left_out_text,
    pieces,
    result_text,
    search_texts,
)
from cairn.agents.trace_text import NO_CALLS, trace_head, trace_lines
from cairn.cli.console import escape, has_colour, link, rule, warn, write, write_exactly
from cairn.cli.output import to_stderr
from cairn.discovery.layout import MORE, by_file, excerpt_name
from cairn.languages.registry import detect_language
from cairn.operations.kill_switch import PHASES
from cairn.text.counts import counted
from cairn.text.verbatim import lines_of

if TYPE_CHECKING:
    from cairn.protocol import (
        AnsweredIn,
        AnswerPlan,
        ContextAnswer,
        DiscoverAnswer,
        Excerpt,
        FoundReference,
        IndexState,
        MatchedLine,
        NamedPlace,
        PageAnswer,
        Range,
        ReferencesAnswer,
        RelatedAnswer,
        SearchAnswer,
        SearchResult,
        Verdict,
    )

_SNIPPET_LINES = 6
_PATHS = Paths({}, True)
"""Paths are printed without their folder's name, which stands beside them."""


def print_search(answer: SearchAnswer) -> None:
    """Print each result with its place, its name and the lines that match best; its reasons if requested."""
    _print_verdict(answer.verdict, bool(answer.results))
    _print_results(answer.results, search_texts(answer, _PATHS))
    if answer.further:
        write(f"[dim]{escape(left_out_text(answer))}[/]")
    _print_state(answer.retrieval, answer.index)


def print_related(answer: RelatedAnswer) -> None:
    """Print each related passage from the line that shows the relation on, and how it is related."""
    _print_results(answer.results, [result_text(each, _PATHS, related=True) for each in answer.results])
    if not answer.results:
        write("Nothing is related to this passage.")
    _print_completeness(answer.index)


def print_context(answer: ContextAnswer) -> None:
    """Print the passages that belong to a place, with the reasons, then the context made of them."""
    place = answer.place
    title = escape(place.header_path or place.title)
    write(f"[bold]{link(place.uri, f'{place.path}:{place.range.start.line + 1}')}[/]  [cyan]{title}[/]")
    for passage, (_, head) in zip(
        answer.passages, _numbered([passage.result for passage in answer.passages]), strict=True
    ):
        write(f"{head}  [dim]{escape(passage.section)}[/]")
        write(f"    {escape(', '.join(passage.reasons))}")
    if answer.message:
        write(escape(answer.message))
    write()
    rule(f"Context, {answer.tokens} of {counted(answer.budget, 'token')}")
    write_exactly(answer.context)
    for item in answer.dropped:
        write(f"[dim]left out: {escape(item.citation or item.title)}, {escape(item.why)}[/]")
    _print_completeness(answer.index)


def print_page(answer: PageAnswer) -> None:
    write_exactly(answer.text)


def print_discovery(answer: DiscoverAnswer, limit: int) -> None:
    """Print the best `limit` excerpts by file, then the named places. If the prompt includes the evidence, it
    comes first."""
    _print_verdict(answer.verdict, bool(answer.excerpts))
    has_sections = not answer.excerpts or any(s.title in answer.answer_prompt for s in answer.plan.sections)
    if has_sections:
        _print_sections(answer.plan)
    if has_sections and answer.excerpts:
        rule("Excerpts")
    folders = {each.folder for each in answer.excerpts} | {each.folder for each in answer.elsewhere}
    several_folders = len(folders) > 1
    best = set(sorted(answer.excerpts, key=lambda each: -each.score)[:limit])
    for of_file in by_file([each for each in answer.excerpts if each in best]):
        _print_excerpts(of_file, several_folders)
    more = len(answer.excerpts) - limit
    if more > 0:
        write(f"[dim]{counted(more, 'more excerpt')}: -n {len(answer.excerpts)} shows them.[/]\n")
    if answer.elsewhere:
        _print_places(answer.elsewhere, several_folders)
    if answer.answer_prompt:
        tokens = counted(answer.metrics.final_prompt_tokens, "token")
        write(f"[dim]A prompt of {tokens}: --prompt prints it.[/]")
    _print_state(answer.retrieval, answer.index)


def _print_excerpts(excerpts: Sequence[Excerpt], several_folders: bool) -> None:
    """Print the path of a file, and below it each of its excerpts with its lines and its reason."""
    first = excerpts[0]
    write(link(first.uri, first.path, "green") + (_folder(first.folder) if several_folders else ""))
    for excerpt in excerpts:
        title = excerpt_name(excerpt) or excerpt.header_path
        place = f"  [bold]:{lines_text(excerpt.range)}[/]"
        write(_spaced(place, _styled("cyan", title), _styled("dim", excerpt.reason)))
        write_code(excerpt.text, excerpt.path, excerpt.language, excerpt.range.start.line + 1)
        write()


def _print_places(places: Sequence[NamedPlace], several_folders: bool) -> None:
    write(f"[bold]{MORE}[/]")
    for each in places:
        folder = _folder(each.folder) if several_folders else ""
        place = link(each.uri, f"{each.path}:{lines_text(each.range)}", "green") + folder
        about = _styled("cyan", each.title) + escape(each.about)
        write(_spaced(f"  {place}", about, _styled("dim", each.relation)))
    write()


def _print_sections(plan: AnswerPlan) -> None:
    for section in plan.sections:
        rule(escape(section.title))
        for bullet in section.bullets:
            write(f"• {escape(bullet.text)}")
            write(f"  [dim]{link(bullet.uri, bullet.citation)}[/]")
        write()


def print_prompt(answer: DiscoverAnswer) -> None:
    """Print nothing but the prompt on stdout, exactly as it is."""
    if answer.answer_prompt:
        write_exactly(answer.answer_prompt)
    else:
        to_stderr(f"cairn: no evidence was found. {answer.verdict.message}".strip())


def _print_results(results: Sequence[SearchResult], texts: Sequence[ResultText]) -> None:
    for (result, head), text in zip(_numbered(results), texts, strict=True):
        write(f"{head}  [dim]{result.score:.2f} {result.source}[/]")
        why = text.why if text.explained else ""
        if about := _spaced(_styled("cyan", text.name), _styled("dim", why)):
            write(f"    {about}")
        _print_parts(text.parts(_SNIPPET_LINES), text.text, result, 4)
        for reason in text.explained:
            write(f"    · {escape(reason)}")
        for passage in text.further:
            write(_spaced(f"    [bold]:{passage.place}[/]", _styled("cyan", passage.name)))
            _print_parts(passage.text.parts(_SNIPPET_LINES), passage.text, result, 6)
        write()


def _print_parts(parts: Sequence[Part], text: Lines, result: SearchResult, indent: int) -> None:
    """Print some lines of a text with their numbers, and the number of the other lines."""
    for number, (first, lines) in enumerate(parts):
        if number:
            write(" " * indent + "[dim]…[/]")
        write_code("\n".join(lines), result.path, result.language, first, indent, result.matched_line)
    left = text.count - sum(len(lines) for _, lines in parts)
    if left > 0:
        write(" " * indent + f"[dim]… {counted(left, 'more line')}[/]")


def _print_state(retrieval: AnsweredIn, index: IndexState) -> None:
    """Warn if a lower phase or a fallback answered, or if the index is not complete."""
    if retrieval.fallback == "generic":  # The answer itself says this.
        return
    if retrieval.phase < retrieval.wanted or retrieval.fallback:
        cached = retrieval.fallback == "cache"
        by = "Answered as before." if cached else f"Answered by {PHASES[retrieval.phase]}."
        warn(f"{by} {retrieval.reason}")
    _print_completeness(index)


def _print_completeness(index: IndexState) -> None:
    if index.source:
        write(f"[dim]{escape(index.source)}[/]")
    warn(index.note, "" if index.complete else "The index is not complete yet.")


def _print_verdict(verdict: Verdict, has_results: bool) -> None:
    if verdict.note:
        write(f"[italic]{escape(verdict.note)}[/]\n")
    if verdict.message:
        refusal = "Nothing here clearly matches. " if verdict.action == "noMatch" else ""
        nearest = "These are only the nearest. " if refusal and has_results else ""
        write(f"[italic]{refusal}{nearest}{escape(verdict.message)}[/]\n")


def _numbered(results: Sequence[SearchResult]) -> Iterator[tuple[SearchResult, str]]:
    """Yield each result with its number, its 1-based `path:first-last`, and its folder if there are
    several."""
    several_folders = len({result.folder for result in results}) > 1
    for number, result in enumerate(results, 1):
        start, end = result.range.start.line + 1, result.range.end.line
        place = link(result.uri, result.path, "green") + f":{start}" + (f"-{end}" if end > start else "")
        folder = _folder(result.folder) if several_folders else ""
        yield result, f"[bold]{number:>2}[/]  {place}{folder}"


def _styled(style: str, text: str) -> str:
    return f"[{style}]{escape(text)}[/]" if text else ""


def _spaced(*parts: str) -> str:
    return "  ".join(filter(None, parts))


def _folder(uri: str) -> str:
    return f" [dim]({escape(uri.rpartition('/')[2])})[/]"


# --- references ------------------------------------------------------------------------------------

_MOST_DEFINITIONS = 5
_STEP = 4
"""The number of columns by which each level is indented."""


def print_references(answer: ReferencesAnswer, direction: str) -> None:
    """Print the definitions, and below each the tree of its references, named by `direction`."""
    if answer.message:
        write(escape(answer.message))
    for definition in answer.definitions[:_MOST_DEFINITIONS]:
        place = _named_place(definition.uri, definition.path, definition.selection_range)
        write(f"{place}  [bold]{escape(definition.symbol)}[/]  [dim]{escape(definition.kind)}[/]")
        _print_line(definition.line, definition.path, definition.selection_range, 1)
    more = len(answer.definitions) - _MOST_DEFINITIONS
    if more > 0:
        write(f"[dim]… {counted(more, 'more definition')} of that name[/]")
    for note in answer.notes:
        place = ""
        if note.uri is not None and note.path is not None and note.range is not None:
            place = _named_place(note.uri, note.path, note.range)
        write(_spaced(_styled("yellow", note_text(note)), place))
    if answer.definitions:
        write()
        _Tree(answer, direction).print()
        if not answer.references:
            write(nothing_found(answer, direction))
    if not answer.complete:
        is_way = len(answer.references) < MOST
        write(f"\n[dim]There are more{'; a larger -n shows them' if is_way else ''}.[/]")
    warn(answer.index.note)


def print_trace(answer: ReferencesAnswer) -> None:
    """Print the start of a trace, and below it the tree of its calls."""
    for text in filter(None, (trace_head(answer, _PATHS), answer.message)):
        write(escape(text))
    if answer.definitions:
        write()
    for line in trace_lines(answer, _PATHS):
        call, arrow, target = line.partition(" → ")
        write(f"{' ' * _STEP}[dim]{escape(call + arrow)}[/]{escape(target)}")
    if answer.definitions and not answer.references and not answer.message:
        write(NO_CALLS)
    if not answer.complete:
        write("\n[dim]There are more calls; a larger -n follows them further.[/]")
    warn(answer.index.note)


class _Tree:
    """The references. Each is printed below the one from which it was found."""

    def __init__(self, answer: ReferencesAnswer, direction: str) -> None:
        self._answer, self._is_down = answer, direction == "callees"
        self._below: dict[int | None, list[int]] = {}
        for number, reference in enumerate(answer.references):
            self._below.setdefault(reference.parent, []).append(number)

    def print(self, parent: int | None = None, depth: int = 1) -> None:
        """Print the references found from the one with index `parent`, with one head for each function."""
        references, numbers = self._answer.references, self._below.get(parent, ())
        for group in in_groups(references, numbers, self._within):
            found = [references[number] for number in group]
            is_known = not self._is_down or {found[0].uri} == self._callers(parent)
            caller = "" if is_known else f"called in {found[0].path}"
            write(" " * _STEP * depth + self._head(found[0], caller))
            for reference in found:
                _print_line(reference.line, reference.path, reference.range, depth + 1)
            for number in group:
                self.print(number, depth + 1)

    def _callers(self, parent: int | None) -> set[str]:
        """Return the files in which callees are called, as far as the text above their heads shows them."""
        above = None if parent is None else self._answer.references[parent].target
        return {each.uri for each in ([above] if above else self._answer.definitions)}

    def _within(self, reference: FoundReference) -> Hashable:
        """Return what the head of a group shows besides the definition that is meant."""
        around = None if self._is_down else reference.enclosing
        return around, reference.confidence, reference.via

    def _head(self, reference: FoundReference, caller: str) -> str:
        """Return the line of the referring or the referenced function, with a dim reason."""
        target, around = reference.target, reference.enclosing
        why = f"{reference.confidence:.2f} {reference.via}"
        if target is not None:
            place, name = _named_place(target.uri, target.path, target.selection_range), target.symbol
        elif self._is_down:
            place, name, why = "", reference.symbol, "not in the workspace"
        else:
            place = _named_place(reference.uri, reference.path, reference.range)
            name = around.symbol if around is not None else ""
            if other := meant(self._answer, reference):
                name += f" → {other}"
        about = ", ".join(filter(None, (caller or use(reference), why)))
        return _spaced(place, _styled("cyan", name.strip()), _styled("dim", about))


def _named_place(uri: str, path: str, place: Range) -> str:
    return link(uri, path, "green") + f":{place.start.line + 1}"


def _print_line(text: str, path: str, place: Range, depth: int) -> None:
    write_code(text.strip(), path, detect_language(path), place.start.line + 1, _STEP * depth)


# --- code ------------------------------------------------------------------------------------------

_THEME = "ansi_dark"
"""This theme uses the terminal's own colours, which are legible for its user, and no background."""
_EMPHASIS = "bold underline"
_TAB = 4


def write_code(
    text: str,
    path: str,
    language: str,
    first: int,
    indent: int = 4,
    matched: MatchedLine | None = None,
    beside: str = "",
) -> None:
    """Print lines of the file at `path`. `first` is the 1-based number of the first line. The words of the
    query in the line `matched` are emphasised. The text `beside` follows each line."""
    lines = lines_of(text)
    width = len(str(first + len(lines) - 1))
    plain = (Text(line.expandtabs(_TAB)) for line in lines)
    shown_lines = _highlighted(lines, path, language) if has_colour() else plain
    for number, line in enumerate(shown_lines, first):
        if matched is not None and number == matched.line + 1:
            line.highlight_words([word for word, is_marked in pieces(matched) if is_marked], _EMPHASIS)
        about = (f"  {beside}" if beside else "", "dim")
        write(Text.assemble(" " * indent, (f"{number:>{width}}", "dim"), "  ", line, about))


def _highlighted(lines: list[str], path: str, language: str) -> Iterator[Text]:
    """Yield the lines in colour, or without colour if their language is unknown. Their text is unchanged."""
    from rich.syntax import Syntax  # The import takes 25 ms, and output without colour does not need it.

    code = "\n".join(lines)
    highlight = partial(Syntax, code, theme=_THEME, background_color="default", tab_size=_TAB)
    syntax = highlight(lexer=language or "text")
    if syntax.lexer is None:  # The highlighter may know the language by another name.
        syntax = highlight(lexer=Syntax.guess_lexer(path))
    # The highlighter also ends the last line.
    yield from syntax.highlight(code).split("\n", allow_blank=True)[: len(lines)]
