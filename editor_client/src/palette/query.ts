// The text in the palette: a query, and filters such as `type:code lang:go path:src`.

import type { ChunkType, SearchFilter } from "../protocol.ts";

export interface PaletteQuery {
  readonly query: string;
  readonly filter: SearchFilter;
}

const FIELDS = new Map<string, keyof SearchFilter>([
  ["type", "type"],
  ["lang", "language"],
  ["language", "language"],
  ["path", "path"],
  ["in", "collection"],
  ["collection", "collection"],
]);
/** A word, or text in double quotes with a directly preceding prefix. */
const WORD = /[^\s"]*"[^"]*"?|\S+/g;
const PREFIX = /^(\w+):(.+)$/s;

/** The values of a filter are separated by commas. The server checks them. */
export function parseQuery(typed: string): PaletteQuery {
  const words: string[] = [];
  const filter: Partial<Record<keyof SearchFilter, string[]>> = {};
  for (const word of wordsOf(typed)) {
    const given = filterOf(word);
    if (given) (filter[given.field] ??= []).push(...given.values);
    else words.push(word);
  }
  const { type, ...others } = filter;
  const types = type && { type: type.map((name) => name.toLowerCase() as ChunkType) };
  return { query: words.join(" "), filter: { ...others, ...types } };
}

/** The typed filters with another query. */
export function withQuery(typed: string, query: string): string {
  return [...wordsOf(typed).filter(filterOf), query].join(" ");
}

function wordsOf(typed: string): string[] {
  return Array.from(typed.matchAll(WORD), ([word]) => word);
}

function filterOf(word: string): { field: keyof SearchFilter; values: string[] } | undefined {
  const [, name = "", value = ""] = PREFIX.exec(word) ?? [];
  const field = FIELDS.get(name.toLowerCase());
  const values = value.replaceAll('"', "").split(",").filter(Boolean);
  return field && values.length > 0 ? { field, values } : undefined;
}

/** The filter for a folder, relative to its workspace folder. */
export function inFolder(path: string): string {
  return path.includes(" ") ? `path:"/${path}/" ` : `path:/${path}/ `;
}
