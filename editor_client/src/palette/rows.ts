// An answer as rows of the palette: results best first, a clarifying question with its alternatives, and
// further actions.

import type { Candidate, FurtherPlaces, SearchAnswer, SearchResult } from "../protocol.ts";

export type Row =
  | ResultRow
  | PassageRow
  | QuestionRow
  | FurtherRow
  | DiscoverRow
  | NoteRow
  | ReasonRow
  | RecentRow
  | ForgetRow
  | SeparatorRow;

interface Shown {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
}

export interface ResultRow extends Shown {
  readonly kind: "result";
  readonly result: SearchResult;
  /** How many further passages of the file are shown below. */
  readonly unfolded: number;
}

/** A further passage of a result's file. */
export interface PassageRow extends Shown {
  readonly kind: "passage";
  readonly result: SearchResult;
  /** The result whose row is above. */
  readonly of: SearchResult;
}

/** The clarifying question; picking it shows only its alternatives. */
export interface QuestionRow extends Shown {
  readonly kind: "question";
  readonly offers: readonly SearchResult[];
}

/** The places that have only one word of the query; picking the row searches for the word. */
export interface FurtherRow extends Shown {
  readonly kind: "further";
  readonly word: string;
}

export interface DiscoverRow extends Shown {
  readonly kind: "discover";
}

/** A row with only a message. */
export interface NoteRow extends Shown {
  readonly kind: "note";
}

/** A reason why the result above was found. */
export interface ReasonRow extends Shown {
  readonly kind: "reason";
}

/** A question that was asked before. */
export interface RecentRow extends Shown {
  readonly kind: "recent";
  readonly typed: string;
}

/** The row that removes all recent questions. */
export interface ForgetRow extends Shown {
  readonly kind: "forget";
}

/** The name of a group of rows. */
export interface SeparatorRow extends Shown {
  readonly kind: "separator";
}

/** An indentation that screen readers do not read, unlike the icon `blank`. */
export const INDENT = "\u2003\u2002";

const TYPE_ICONS: Readonly<Record<string, string>> = {
  code: "code",
  prose: "book",
  api: "plug",
  cmd: "terminal",
  config: "settings-gear",
};
const KIND_ICONS: Readonly<Record<string, string>> = {
  class: "symbol-class",
  constant: "symbol-constant",
  constructor: "symbol-constructor",
  enum: "symbol-enum",
  field: "symbol-field",
  function: "symbol-function",
  impl: "symbol-class",
  interface: "symbol-interface",
  macro: "symbol-function",
  method: "symbol-method",
  module: "symbol-module",
  object: "symbol-object",
  property: "symbol-property",
  struct: "symbol-structure",
  trait: "symbol-interface",
  type: "symbol-class",
  variable: "symbol-variable",
};

/** `folderName` names workspace folders by URI; undefined if there is only one. */
export function rowsOf(answer: SearchAnswer, folderName: (uri: string) => string | undefined): Row[] {
  const { results, verdict } = answer;
  const rows: Row[] = [];
  const last = [...answer.further.map(furtherRow), DISCOVER];
  if (verdict.note) rows.push({ kind: "note", label: "$(info) Note", detail: verdict.note });
  const row = (result: SearchResult): ResultRow => resultRow(result, folderName(result.folder));
  if (verdict.action === "clarify") {
    const offers = offered(verdict.candidates, results);
    if (offers.length > 0) {
      rows.push({ kind: "question", label: `$(question) ${verdict.message}`, offers });
      rows.push(...offers.map(row), ...results.filter((result) => !offers.includes(result)).map(row));
      return [...rows, ...last];
    }
  }
  if (results.length === 0) {
    rows.push({ kind: "note", label: "$(circle-slash) Nothing found", detail: notFound(answer) });
  } else if (verdict.action === "noMatch") {
    const detail = `What follows is the nearest there is. ${verdict.message}`;
    rows.push({ kind: "note", label: "$(circle-slash) No good match", detail });
  }
  return [...rows, ...results.map(row), ...last];
}

/** The alternatives of the clarifying question. */
function offered(candidates: readonly Candidate[], results: readonly SearchResult[]): SearchResult[] {
  return candidates.flatMap(
    (candidate) =>
      results.find((result) => result.path === candidate.path && result.title === candidate.title) ?? [],
  );
}

export function resultRow(result: SearchResult, folder?: string): ResultRow {
  const place = `${result.path}:${result.selectionRange.start.line + 1}`;
  return {
    kind: "result",
    label: `$(${typeIcon(result)}) ${plain(result.title || result.path)}`,
    description: folder === undefined ? place : `${folder} • ${place}`,
    detail: plain(secondLine(result)),
    result,
    unfolded: 0,
  };
}

export function typeIcon({ symbolKind, type }: SearchResult): string {
  return kindIcon(symbolKind) ?? TYPE_ICONS[type] ?? "file";
}

/** The icon of a kind of definition. */
export function kindIcon(kind: string): string | undefined {
  return KIND_ICONS[kind];
}

/** A row that says how a passage is related, for passages that no words found. */
export function relatedRow(result: SearchResult, folder?: string): ResultRow {
  return { ...resultRow(result, folder), detail: plain(result.reasons.join(", ")) };
}

/** The line that matches best, or without one, what kind of text the result is. */
function secondLine({ matchedLine, type, language }: SearchResult): string {
  if (matchedLine) return `${matchedLine.line + 1}: ${matchedLine.text}`;
  return [type, language].filter(Boolean).join(" · ");
}

/** The rows with the reasons of a result below it; without any if those are already there. */
export function toggleReasons(rows: readonly Row[], asked: ResultRow): Row[] {
  const areShown = rows[rows.indexOf(asked) + 1]?.kind === "reason";
  const others = rows.filter(({ kind }) => kind !== "reason");
  return others.flatMap((row) => (row === asked && !areShown ? [row, ...reasonRows(asked.result)] : [row]));
}

function reasonRows({ score, source, matchedTerms, matchExplain, reasons }: SearchResult): ReasonRow[] {
  const words = matchedTerms.length > 0 ? `; words: ${matchedTerms.join(", ")}` : "";
  const lines = [`score ${score.toFixed(2)}, found by ${source}${words}`, ...(matchExplain ?? reasons)];
  return lines.map((line) => ({ kind: "reason", label: `${INDENT}${plain(line)}` }));
}

/** Whether two lists of rows look the same. */
export function lookAlike(some: readonly Row[], others: readonly Row[]): boolean {
  const looks = (rows: readonly Row[]): string =>
    JSON.stringify(rows.map(({ kind, label, description, detail }) => [kind, label, description, detail]));
  return looks(some) === looks(others);
}

/** Whether a row leads to the place of a result, also if it is from another answer. */
export function leadsTo(row: Row, { folder, path, selectionRange }: SearchResult): boolean {
  if (row.kind !== "result" && row.kind !== "passage") return false;
  const { result } = row;
  const line = result.selectionRange.start.line;
  return result.folder === folder && result.path === path && line === selectionRange.start.line;
}

/** The rows of an empty palette. Without recent questions, one row names examples of what can be typed. */
export function recentRows(questions: readonly string[], names: readonly string[] = []): Row[] {
  if (questions.length === 0) {
    const [name, asked, filtered] = names.map(plain);
    const examples = [
      ...(name ? [name] : []),
      ...(asked ? [`how does ${asked} work`] : ["how is the configuration read"]),
      `type:prose ${filtered ?? "install"}`,
    ];
    const detail = `For example: ${examples.join(" · ")}`;
    return [{ kind: "note", label: "$(search) Type a question, a name or words", detail }];
  }
  return [
    { kind: "separator", label: "Recent questions" },
    ...questions.map((typed): Row => ({ kind: "recent", label: `$(history) ${plain(typed)}`, typed })),
    { kind: "forget", label: "$(clear-all) Remove all recent questions" },
  ];
}

/** The line above the rows: the progress of indexing, and the commit of a team's index. */
export function titleOf({ index }: SearchAnswer): string {
  const remarks = [
    ...(index.source ? [index.source.replace(/\.$/, "")] : []),
    ...(index.complete ? [] : ["indexing goes on"]),
  ];
  return ["Cairn: Search", ...(remarks.length > 0 ? [`(${remarks.join("; ")})`] : [])].join(" ");
}

function notFound({ index }: SearchAnswer): string {
  if (index.note) return index.note;
  return index.complete
    ? "Try other words, or leave out a filter."
    : "The index is not complete yet: try again soon.";
}

function furtherRow({ word, places }: FurtherPlaces): FurtherRow {
  const hold = places === 1 ? "1 more place holds" : `${places} more places hold`;
  return { kind: "further", label: `$(search) ${hold} “${plain(word)}”`, word };
}

/** It does not contain the query, so that rows which stay the same while the user types are not redrawn. */
const DISCOVER: DiscoverRow = {
  kind: "discover",
  label: "$(lightbulb) Discover",
  detail: "Excerpts with citations, and a prompt for a language model",
};

/** Text in which the palette shows no icons. */
export function plain(text: string): string {
  return text.replaceAll("$(", "$\u200b(");
}
