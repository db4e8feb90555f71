// A result's file unfolded: its further passages are rows below the row of the result.

import { posix } from "node:path";
import { fileURLToPath } from "node:url";

import type { CancellationToken } from "vscode";

import type { Api } from "../api.ts";
import type { Range, SearchAnswer, SearchResult } from "../protocol.ts";
import type { PaletteQuery } from "./query.ts";
import {
  INDENT,
  type PassageRow,
  plain,
  type ReasonRow,
  type ResultRow,
  type Row,
  typeIcon,
} from "./rows.ts";

/** More would not fit on the screen with other results. */
const MOST_PASSAGES = 6;

const NO_FURTHER = "This file has no further passage for what you typed";

/** Further passages of a result's file. A name has one place in it, so the lines with it follow. */
export async function passagesOf(
  api: Api,
  { query, filter }: PaletteQuery,
  result: SearchResult,
  rows: readonly Row[],
  token: CancellationToken,
): Promise<SearchResult[]> {
  const path = [fileURLToPath(result.uri)];
  const inFile = { query, filter: { ...filter, path }, limit: MOST_PASSAGES + rows.length };
  const found = furtherPassages(await api.search({ ...inFile, context: 0, passages: 1 }, token), rows);
  if (found.length > 0) return found;
  const lines = await api.search({ ...inFile, exact: true, ignoreCase: true }, token);
  return furtherLines(lines, result, rows);
}

/**
 * The passages of an answer about one file, best first, without those that have a row already. Each leads to
 * its own line, since several can be of one definition.
 */
export function furtherPassages(answer: SearchAnswer, rows: readonly Row[]): SearchResult[] {
  const found = answer.results.map((result) => leadingTo(result, passageLine(result)));
  return withoutShown(found, rows).slice(0, MOST_PASSAGES);
}

/** The lines of an exact search in the file of `result`, without those that have a row already. */
export function furtherLines(
  answer: SearchAnswer,
  result: SearchResult,
  rows: readonly Row[],
): SearchResult[] {
  const definitions = answer.occurrences?.found.flatMap((file) => file.definitions) ?? [];
  const found = definitions.flatMap(({ symbol, kind, lines }) =>
    lines.map((matchedLine): SearchResult => {
      const of = { title: symbol, symbol, symbolKind: kind, contentHash: "", bestLines: null };
      return leadingTo(
        { ...result, ...of, matchedLine, range: lineRange(matchedLine.line) },
        matchedLine.line,
      );
    }),
  );
  return withoutShown(found, rows).slice(0, MOST_PASSAGES);
}

/** The rows with passages below `asked`, or with what is said if there are none. Reasons are hidden. */
export function unfold(
  rows: readonly Row[],
  asked: ResultRow,
  found: readonly SearchResult[],
  ifNone = NO_FURTHER,
): Row[] {
  const none: ReasonRow = { kind: "reason", label: `${INDENT}${plain(ifNone)}` };
  const below = found.length > 0 ? found.map((each) => passageRow(each, asked)) : [none];
  return withoutReasons(rows).flatMap((row) =>
    row === asked ? [{ ...asked, unfolded: found.length }, ...below] : [row],
  );
}

/** The rows without the passages of a result. */
export function fold(rows: readonly Row[], asked: ResultRow): Row[] {
  return withoutReasons(rows).flatMap((row) => {
    if (row === asked) return [{ ...asked, unfolded: 0 }];
    return row.kind === "passage" && row.of === asked.result ? [] : [row];
  });
}

/** The row of the result to which a row belongs. */
export function resultRowOf(rows: readonly Row[], row: Row | undefined): ResultRow | undefined {
  if (row?.kind === "result") return row;
  const isParent = (each: Row): each is ResultRow =>
    row?.kind === "passage" && each.kind === "result" && each.result === row.of;
  return rows.find(isParent);
}

function passageRow(result: SearchResult, { result: of }: ResultRow): PassageRow {
  const line = passageLine(result);
  const text = result.matchedLine?.text ?? result.snippet.trim().split("\n", 1)[0] ?? "";
  return {
    kind: "passage",
    label: `${INDENT}$(${typeIcon(result)}) ${plain(result.title || posix.basename(result.path))}`,
    description: plain(`${line + 1}: ${text}`),
    result,
    of,
  };
}

/** The line that shows best why the passage was found. */
function passageLine({ matchedLine, range }: SearchResult): number {
  return matchedLine?.line ?? range.start.line;
}

function leadingTo(result: SearchResult, line: number): SearchResult {
  return { ...result, selectionRange: lineRange(line) };
}

function lineRange(line: number): Range {
  return { start: { line, character: 0 }, end: { line: line + 1, character: 0 } };
}

function withoutShown(found: readonly SearchResult[], rows: readonly Row[]): SearchResult[] {
  const shown = rows.flatMap((row) => (row.kind === "result" ? [row.result] : []));
  return found.filter((each) => !shown.some((result) => isSamePassage(result, each)));
}

function isSamePassage(result: SearchResult, passage: SearchResult): boolean {
  if (result.folder !== passage.folder || result.path !== passage.path) return false;
  const { line } = passage.selectionRange.start;
  const lines = [result.selectionRange.start.line, passageLine(result)];
  return lines.includes(line) || result.range.start.line === passage.range.start.line;
}

function withoutReasons(rows: readonly Row[]): Row[] {
  return rows.filter(({ kind }) => kind !== "reason");
}
