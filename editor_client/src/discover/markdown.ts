// A discovery as Markdown: excerpts as code by file, the most useful file first, each below a link to its
// lines, then links to further places. Quoted text is fenced or escaped, so that it looks as in its file and
// loads nothing.

import type { Bullet, DiscoverAnswer, Excerpt, NamedPlace, Range, SearchResult } from "../protocol.ts";

/** A column behind the end of any line. The editor clips it, so that the whole last line is selected. */
const LINE_END = 9999;
/** How many places are shown if nothing matches. */
const NEAREST_PLACES = 5;
const SECTION_GAP = "\n\n";

/**
 * `root` is the URI of the first workspace folder: the preview follows no links to other schemes, and
 * resolves links that begin with `/` against it. `folderName` names workspace folders by URI; undefined if
 * there is only one.
 */
export function discoveryAsMarkdown(
  question: string,
  answer: DiscoverAnswer,
  root: string,
  folderName: (uri: string) => string | undefined,
): string {
  const { verdict, excerpts, index } = answer;
  const parts = [`# ${escape(question)}`];
  if (verdict.note) parts.push(`*${escape(verdict.note)}*`);
  parts.push(...decision(answer));
  parts.push(summary(answer));
  if (index.source) parts.push(`*${escape(index.source)}*`);
  if (index.note) parts.push(`*${escape(index.note)}*`);
  if (!index.complete) parts.push("*The index is not complete yet: asked later, there may be more.*");
  const sections = leadingSections(answer, root);
  parts.push(...sections);
  if (sections.length > 0 && excerpts.length > 0) parts.push("## Excerpts");
  const heading = (each: Excerpt | NamedPlace) => fileHeading(each, root, folderName(each.folder));
  for (const ofFile of byFile(excerpts)) {
    parts.push(heading(ofFile[0]), ...ofFile.flatMap((each) => excerptParts(each, root)));
  }
  if (verdict.action === "noMatch") {
    const nearest = nearestPlaces(answer).map((each, index) => passage(each, index, root));
    if (nearest.length > 0) parts.push("## Nearest places", nearest.join("\n"));
  } else if (answer.elsewhere.length > 0) {
    parts.push("## More on request");
    for (const ofFile of byFile(answer.elsewhere)) {
      parts.push(heading(ofFile[0]), ofFile.map((each) => namedPlace(each, root)).join("\n"));
    }
  }
  return parts.join(SECTION_GAP) + "\n";
}

/** The verdict before the evidence: weak evidence, only the nearest places, or a question back. */
function decision({ verdict, excerpts }: DiscoverAnswer): string[] {
  const { action, message, candidates } = verdict;
  if (action === "answer") return message ? [`*${escape(message)}*`] : [];
  const offers = candidates.map((offer) => `> - **${escape(offer.title)}** ${code(offer.path)}`);
  const nearest = excerpts.length > 0 ? " What follows is only the nearest." : "";
  const refusal = action === "noMatch" ? `**Nothing here clearly matches.**${nearest} ` : "";
  return [[`> ${refusal}${escape(message)}`, ...(offers.length > 0 ? [">", ...offers] : [])].join("\n")];
}

function summary({ excerpts, bullets, answerPrompt, metrics }: DiscoverAnswer): string {
  const found = excerpts.length > 0 ? excerpts : bullets;
  if (found.length === 0) return "No evidence was found.";
  const files = new Set(found.map(({ uri }) => uri)).size;
  const what =
    excerpts.length > 0 ? count(found.length, "excerpt") : count(found.length, "piece") + " of evidence";
  const tokens = metrics.finalPromptTokens.toLocaleString("en");
  const prompt = `Press \`c\` to copy the prompt of ${tokens} tokens, \`p\` to open it.`;
  return `${what} from ${count(files, "file")}.${answerPrompt ? ` ${prompt}` : ""}`;
}

function count(number: number, noun: string): string {
  return number === 1 ? `1 ${noun}` : `${number} ${noun}s`;
}

/** The plan's sections, if the prompt has them or there is nothing else. Overviews begin with them. */
function leadingSections({ plan, excerpts, chunks, answerPrompt }: DiscoverAnswer, root: string): string[] {
  const lead = excerpts.length === 0 || plan.sections.some(({ title }) => answerPrompt.includes(title));
  const isCode = codeRanges(chunks);
  return (lead ? plan.sections : []).flatMap((section) => [
    `## ${escape(section.title)}`,
    section.bullets.map((bullet) => evidence(bullet, isCode(bullet), root)).join("\n"),
  ]);
}

/** The excerpts or places of each file. Those of one file are consecutive. */
function byFile<T extends { readonly uri: string }>(places: readonly T[]): [T, ...T[]][] {
  const files: [T, ...T[]][] = [];
  for (const place of places) {
    const last = files.at(-1);
    if (last?.[0].uri === place.uri) last.push(place);
    else files.push([place]);
  }
  return files;
}

function fileHeading({ path, uri }: Excerpt | NamedPlace, root: string, folder?: string): string {
  const of = folder ? ` · ${escape(folder)}` : "";
  return `### [${escape(path)}](<${relative(uri, root)}>)${of}`;
}

/** A link to the lines, their definition, the reason, and the lines themselves. */
function excerptParts(excerpt: Excerpt, root: string): string[] {
  const title = excerptName(excerpt);
  const about = [
    link(lines(excerpt.range), excerpt, root),
    title && `**${escape(title)}**`,
    excerpt.reason && `*${escape(excerpt.reason)}*`,
  ];
  return [about.filter(Boolean).join(" · "), fenced(excerpt.text, excerpt.language)];
}

/** The definition around an excerpt, such as `Berth.leave`, or else the headings. */
function excerptName({ symbol, headerPath }: Excerpt): string {
  return symbol ? headerPath.replaceAll(" > ", ".") : headerPath;
}

function namedPlace(place: NamedPlace, root: string): string {
  const relation = place.relation && ` · *${escape(place.relation)}*`;
  return `- ${link(lines(place.range), place, root)} ${escape(place.title + place.about)}${relation}`;
}

/** The nearest places in files without excerpts. */
function nearestPlaces({ chunks, excerpts }: DiscoverAnswer): SearchResult[] {
  const shown = new Set(excerpts.map(({ uri }) => uri));
  return chunks.filter(({ uri }) => !shown.has(uri)).slice(0, NEAREST_PLACES);
}

function evidence(bullet: Bullet, isCode: boolean, root: string): string {
  const text = bullet.text.replace(/\s+/g, " ").trim();
  return `- ${isCode ? code(text) : escape(text)}  \n  ${link(bullet.citation, bullet, root)}`;
}

function passage(result: SearchResult, index: number, root: string): string {
  const place = `${result.path}:${result.selectionRange.start.line + 1}`;
  const title = result.headerPath || result.title;
  return `${index + 1}. ${link(place, result, root)}${title ? ` ${escape(title)}` : ""}`;
}

/** Whether a piece of evidence is in code. */
function codeRanges(chunks: readonly SearchResult[]): (bullet: Bullet) => boolean {
  const ofCode = chunks.filter(({ type }) => type === "code" || type === "api");
  return ({ uri, range }) =>
    ofCode.some(
      (chunk) =>
        chunk.uri === uri &&
        chunk.range.start.line <= range.start.line &&
        range.start.line < chunk.range.end.line,
    );
}

function link(text: string, to: { readonly uri: string; readonly range: Range }, root: string): string {
  const [first, last] = numbered(to.range);
  return `[${escape(text)}](<${relative(to.uri, root)}#L${first}-L${last},${LINE_END}>)`;
}

function lines(range: Range): string {
  const [first, last] = numbered(range);
  return last > first ? `L${first}-L${last}` : `L${first}`;
}

/** The first and the last line, from 1. */
function numbered({ start, end }: Range): [number, number] {
  return [start.line + 1, Math.max(start.line + 1, end.character === 0 ? end.line : end.line + 1)];
}

/** The path from `/`, which means the root, to a URI: `/src/app.py`, `/../other/src/app.py`. */
function relative(uri: string, root: string): string {
  const [from, to] = [root.replace(/\/$/, "").split("/"), uri.split("/")];
  let common = 0;
  while (common < from.length && from[common] === to[common]) common++;
  return `/${[...from.slice(common).map(() => ".."), ...to.slice(common)].join("/")}`;
}

/** A code span, with any backquotes in the text. */
export function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const quotes = "`".repeat(longest + 1);
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${quotes}${pad}${text}${pad}${quotes}`;
}

/** A code block that ends in the right place. The language name may come from the file. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language.replace(/[^\w+#.-]/g, "")}\n${text}\n${fence}`;
}

/** Text without Markdown syntax. */
export function escape(text: string): string {
  return text.replace(/[!-/:-@[-`{-~]/g, (mark) =>
    mark === "&" ? "&amp;" : mark === "<" ? "&lt;" : `\\${mark}`,
  );
}
