// Converts an answer, or the reason why there is none, to the content of the context panel. It is pure: no
// editor, no page.

import { createHash } from "node:crypto";

import { type Absence, explained } from "../absence.ts";
import type {
  ContextAnswer,
  ContextPassage,
  ContextSection,
  SearchResult,
  StatusAnswer,
} from "../protocol.ts";
import {
  type Content,
  LISTED,
  type PassageContent,
  type Piece,
  type Reason,
  type Reveal,
  type SectionContent,
  type SnippetLine,
} from "./messages.ts";
import { emptySections, fillingOf, headingOf } from "./sections.ts";

/** More lines are in the file, one key away. */
const SNIPPET_LINES = 4;
/** Wider than any side bar; minified lines are cut here. */
const SNIPPET_COLUMNS = 200;
/** The strongest reasons that fit into one line; *Why?* shows all. */
const REASONS = 3;

/** Facts beside the answer. */
export interface Surroundings {
  readonly pinned: Content["pinned"];
  /** Whether the place's file is in the index. */
  readonly indexed: boolean;
  readonly status: StatusAnswer | undefined;
  /** The folder's name by its URI; "" if only one folder is open. */
  readonly folderName: (uri: string) => string;
}

export function contentOfAnswer(answer: ContextAnswer, around: Surroundings): Content {
  const where = citedAs(answer.place.path, answer.place.range);
  const place = {
    title: answer.place.title || baseName(answer.place.path),
    file: baseName(where),
    directory: directoryOf(where),
    where,
  };
  const sections = sectionsOf(answer, around);
  const count = answer.passages.length;
  const empty =
    count > 0
      ? emptySections(
          sections.map(({ name }) => name),
          answer.place,
        )
      : [];
  return withKey({
    place,
    pinned: around.pinned,
    notice: notice(answer, around),
    sections,
    empty: empty.map((name) => ({
      heading: headingOf(name, answer.place),
      filling: fillingOf(name, answer.place),
    })),
    message: count > 0 ? "" : answer.message || nothingRelated(answer),
    actions: [],
    announcement: `${count === 1 ? "1 passage" : `${count || "No"} passages`} for ${place.title}`,
  });
}

/** The sections in the order of their first passages. */
function sectionsOf(answer: ContextAnswer, around: Surroundings): SectionContent[] {
  const sections = new Map<ContextSection, PassageContent[]>();
  for (const [index, passage] of answer.passages.entries()) {
    const drawn = passageContent(passage, index, around);
    const before = sections.get(passage.section);
    if (before) before.push(drawn);
    else sections.set(passage.section, [drawn]);
  }
  return Array.from(sections, ([name, passages]) => ({
    name,
    heading: headingOf(name, answer.place),
    passages,
    all: allOf(name, answer, around),
  }));
}

/** The label of the link to all callers or tests, which only an indexed definition has. */
function allOf(section: ContextSection, { place }: ContextAnswer, { indexed }: Surroundings): string {
  const listed = LISTED.find((each) => each === section);
  return listed && indexed && place.symbol ? `All ${listed}` : "";
}

/** The message that shows a section of the answer. */
export function revealOf(section: ContextSection, answer: ContextAnswer, around: Surroundings): Reveal {
  const isThere = answer.passages.some((passage) => passage.section === section);
  const heading = headingOf(section, answer.place);
  const absent = `Nothing is shown under “${heading}”. ${fillingOf(section, answer.place)}`;
  return {
    type: "reveal",
    section,
    absent: isThere ? "" : absent,
    all: isThere ? "" : allOf(section, answer, around),
  };
}

function nothingRelated({ index }: ContextAnswer): string {
  if (!index.complete) return "Nothing related was found so far. More can appear as indexing goes on.";
  return (
    "Nothing related was found for this place. Callers, tests and documents appear here once indexed files " +
    "use or name what is at the cursor."
  );
}

export function contentOfAbsence(absence: Absence, pinned: Content["pinned"]): Content {
  const { message, actions } = explained(absence);
  return withKey({
    place: undefined,
    pinned,
    notice: "",
    sections: [],
    empty: [],
    message,
    actions,
    announcement: message,
  });
}

function notice(answer: ContextAnswer, { indexed, status }: Surroundings): string {
  if (!answer.index.complete) return progress(status);
  return indexed ? answer.index.source : "This file is not indexed. Passages are found by its text alone.";
}

/** The progress of indexing, while it is incomplete. */
function progress(status: StatusAnswer | undefined): string {
  if (!status) return "The index is not complete yet.";
  const { files, chunks, embedded } = status;
  if (files.indexed < files.total) return `Indexed so far: ${files.indexed} of ${files.total} files.`;
  if (embedded < chunks) {
    return `Compared by meaning so far: ${Math.floor((100 * embedded) / chunks)} % of the passages.`;
  }
  return "The index is not complete yet.";
}

function passageContent(passage: ContextPassage, index: number, around: Surroundings): PassageContent {
  const { result, reasons } = passage;
  const title = result.title || baseName(result.path);
  const line = result.selectionRange.start.line + 1;
  const folder = around.folderName(result.folder);
  const why = reasons.slice(0, REASONS);
  return {
    index,
    id: `${result.contentHash} ${result.folder} ${result.path} ${result.headerPath}`,
    title,
    file: baseName(result.path),
    line,
    directory: directoryOf(result.path),
    folder,
    reasons: why.join(", "),
    why: whyOf(reasons, result.matchExplain ?? []),
    snippet: snippet(result),
    label: [title, ...(folder ? [`folder ${folder}`] : []), `${result.path} line ${line}`, ...why].join(", "),
    tooltip: [result.headerPath || title, citedAs(result.path, result.range)].join("\n"),
  };
}

/** The scores are lines such as `calls it: 1.00 × 10 = +10.00`. Some reasons have none. */
function whyOf(reasons: readonly string[], scores: readonly string[]): Reason[] {
  const scored = scores.map((line) => {
    const end = line.lastIndexOf(": ");
    return { words: line.slice(0, end), score: line.slice(end + 2) };
  });
  const others = reasons.filter((reason) => !scored.some(({ words }) => words === reason));
  return [...others.map((words) => ({ words, score: "" })), ...scored];
}

/**
 * The first meaningful lines of a passage, without their common indentation. If the line to go to, or else a
 * related word, is further down, the last two lines are that line and the next one.
 */
export function snippet(
  result: Pick<SearchResult, "snippet" | "title" | "type" | "matchedTerms" | "range" | "selectionRange">,
): SnippetLine[] {
  const lines = result.snippet
    .split(/\r\n|\r|\n/)
    .map((text, number) => ({ text: text.trimEnd(), number }))
    .filter(({ text }) => /[\p{L}\p{N}]/u.test(text));
  const telling = lines.slice(
    Math.max(
      0,
      lines.findIndex(({ text }) => !isPreamble(text, result)),
    ),
  );
  const words = wordsOf(result.matchedTerms);
  const line = result.selectionRange.start.line - result.range.start.line;
  const selected = telling.findIndex(({ number }) => number >= line);
  const worded = words ? telling.findIndex(({ text }) => text.search(words) >= 0) : -1;
  const first = selected >= SNIPPET_LINES ? selected : worded;
  const far = first >= SNIPPET_LINES;
  const chosen = far
    ? [...telling.slice(0, SNIPPET_LINES - 2), ...telling.slice(first, first + 2)]
    : telling.slice(0, SNIPPET_LINES);
  const indent = Math.min(...chosen.map(({ text }) => text.length - text.trimStart().length));
  return chosen.map(({ text }, at) => ({
    pieces: pieces(text.slice(indent, indent + SNIPPET_COLUMNS), words),
    afterGap: far && at === SNIPPET_LINES - 2,
  }));
}

/** Whether a first line says less than the following ones: a repeated title, or a decorator. */
function isPreamble(line: string, { title, type }: Pick<SearchResult, "title" | "type">): boolean {
  if (type === "code" && /^\s*(?:@\w|#\[)/.test(line)) return true;
  return line.replace(/^[\s#=]+|[\s#=]+$/g, "") === title;
}

/** A pattern of whole words. */
function wordsOf(terms: readonly string[]): RegExp | undefined {
  if (terms.length === 0) return undefined;
  const escaped = terms.map((term) => term.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`(?<![\\p{L}\\p{N}_])(?:${escaped.join("|")})(?![\\p{L}\\p{N}_])`, "gu");
}

function pieces(line: string, words: RegExp | undefined): Piece[] {
  const found: Piece[] = [];
  let end = 0;
  for (const match of words ? line.matchAll(words) : []) {
    if (match.index > end) found.push({ text: line.slice(end, match.index), marked: false });
    end = match.index + match[0].length;
    found.push({ text: match[0], marked: true });
  }
  if (end < line.length) found.push({ text: line.slice(end), marked: false });
  return found;
}

/** A passage for a prompt or a note: its citation, and its text in a fence that nothing in it can end. */
export function quoted(result: SearchResult): string {
  const longest = Math.max(2, ...Array.from(result.snippet.matchAll(/`{3,}/g), (run) => run[0].length));
  const fence = "`".repeat(longest + 1);
  const citation = citedAs(result.path, result.range, "#L");
  return `${citation}\n\n${fence}${result.language}\n${result.snippet.replace(/\s+$/, "")}\n${fence}\n`;
}

/** `path:10-14`, or with `#L` `path#L10-L14`: 1-based and inclusive. */
function citedAs(path: string, range: SearchResult["range"], mark: ":" | "#L" = ":"): string {
  const first = range.start.line + 1;
  const last = Math.max(first, range.end.line + (range.end.character > 0 ? 1 : 0));
  if (last === first) return `${path}${mark}${first}`;
  return `${path}${mark}${first}-${mark === "#L" ? "L" : ""}${last}`;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function directoryOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

function withKey(content: Omit<Content, "key">): Content {
  return { key: createHash("sha256").update(JSON.stringify(content)).digest("base64url"), ...content };
}
