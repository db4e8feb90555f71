// An answer as rows of the palette: results best first, a clarifying question with its alternatives, and
// further actions.

import type { Candidate, SearchAnswer, SearchResult } from "../protocol.ts";

export type Row = ResultRow | QuestionRow | DiscoverRow | NoteRow;

interface Shown {
  readonly label: string;
  readonly description?: string;
  readonly detail?: string;
}

export interface ResultRow extends Shown {
  readonly kind: "result";
  readonly result: SearchResult;
}

/** The clarifying question; picking it shows only its alternatives. */
export interface QuestionRow extends Shown {
  readonly kind: "question";
  readonly offers: readonly SearchResult[];
}

export interface DiscoverRow extends Shown {
  readonly kind: "discover";
  readonly query: string;
}

/** A row with only a message. */
export interface NoteRow extends Shown {
  readonly kind: "note";
}

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
export function rowsOf(
  answer: SearchAnswer,
  query: string,
  folderName: (uri: string) => string | undefined,
): Row[] {
  const { results, verdict } = answer;
  const rows: Row[] = [];
  if (verdict.note) rows.push({ kind: "note", label: "$(info) Note", detail: verdict.note });
  const row = (result: SearchResult): ResultRow => resultRow(result, folderName(result.folder));
  if (verdict.action === "clarify") {
    const offers = offered(verdict.candidates, results);
    if (offers.length > 0) {
      rows.push({ kind: "question", label: `$(question) ${verdict.message}`, offers });
      rows.push(...offers.map(row), ...results.filter((result) => !offers.includes(result)).map(row));
      return [...rows, discoverRow(query)];
    }
  }
  if (results.length === 0) {
    rows.push({ kind: "note", label: "$(circle-slash) Nothing found", detail: notFound(answer) });
  } else if (verdict.action === "noMatch") {
    const detail = `What follows is the nearest there is. ${verdict.message}`;
    rows.push({ kind: "note", label: "$(circle-slash) No good match", detail });
  }
  return [...rows, ...results.map(row), discoverRow(query)];
}

/** The alternatives of the clarifying question. */
function offered(candidates: readonly Candidate[], results: readonly SearchResult[]): SearchResult[] {
  return candidates.flatMap(
    (candidate) =>
      results.find((result) => result.path === candidate.path && result.title === candidate.title) ?? [],
  );
}

export function resultRow(result: SearchResult, folder?: string): ResultRow {
  const icon = KIND_ICONS[result.symbolKind] ?? TYPE_ICONS[result.type] ?? "file";
  const place = `${result.path}:${result.selectionRange.start.line + 1}`;
  return {
    kind: "result",
    label: `$(${icon}) ${plain(result.title || result.path)}`,
    description: folder === undefined ? place : `${folder} • ${place}`,
    detail: plain(reason(result)),
    result,
  };
}

function reason(result: SearchResult): string {
  const words = result.matchedTerms.length > 0 ? [result.matchedTerms.join(", ")] : [];
  return [result.type, ...words, result.reasons.join(", ")].filter(Boolean).join(" · ");
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

function discoverRow(query: string): DiscoverRow {
  return {
    kind: "discover",
    label: `$(lightbulb) Discover “${plain(query)}”`,
    detail: "Excerpts with citations, and a prompt for a language model",
    query,
  };
}

/** Text in which the palette shows no icons. */
export function plain(text: string): string {
  return text.replaceAll("$(", "$\u200b(");
}
