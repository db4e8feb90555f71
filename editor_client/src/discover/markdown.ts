// A discovery as Markdown that a person can read: evidence by section, each piece with a link to its lines, then passages
// and the prompt. What is quoted is escaped, so that it looks as in its file and loads nothing.

import type { Bullet, DiscoverAnswer, Range, SearchResult } from "../protocol.ts";

/** A column behind the end of any line, to which the editor goes back: all of the last line is selected, too. */
const LINE_END = 9999;
const SECTION_GAP = "\n\n";

/**
 * `root` is the URI of the first workspace folder: the preview follows no link to another scheme, and takes what begins
 * with `/` as relative to that.
 */
export function discoveryAsMarkdown(question: string, answer: DiscoverAnswer, root: string): string {
  const { verdict, plan, chunks, answerPrompt, index } = answer;
  const parts = [`# ${escape(question)}`];
  if (verdict.note) parts.push(`*${escape(verdict.note)}*`);
  if (verdict.action !== "answer") {
    const offers = verdict.candidates.map((offer) => `> - **${escape(offer.title)}** ${code(offer.path)}`);
    parts.push([`> ${escape(verdict.message)}`, ...(offers.length > 0 ? [">", ...offers] : [])].join("\n"));
  }
  parts.push(summary(answer));
  if (index.note) parts.push(`*${escape(index.note)}*`);
  if (!index.complete) parts.push("*The index is not complete yet: asked later, there may be more.*");
  const isCode = codeRanges(chunks);
  for (const section of plan.sections) {
    parts.push(
      `## ${escape(section.title)}`,
      section.bullets.map((b) => evidence(b, isCode(b), root)).join("\n"),
    );
  }
  if (chunks.length > 0)
    parts.push("## Passages", chunks.map((chunk, index) => passage(chunk, index, root)).join("\n"));
  if (answerPrompt) parts.push("## Prompt", fenced(answerPrompt));
  return parts.join(SECTION_GAP) + "\n";
}

function summary({ plan, metrics }: DiscoverAnswer): string {
  if (plan.totalBullets === 0) return "No evidence was found.";
  const { length } = plan.sources;
  const evidence =
    plan.totalBullets === 1 ? "1 piece of evidence" : `${plan.totalBullets} pieces of evidence`;
  const sources = length === 1 ? "1 source" : `${length} sources`;
  return `${evidence} from ${sources}, and a prompt of ${metrics.finalPromptTokens} tokens.`;
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

/** Whether a piece of evidence stands in a passage of code. */
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
  const { start, end } = to.range;
  const last = Math.max(start.line + 1, end.character === 0 ? end.line : end.line + 1);
  return `[${escape(text)}](<${relative(to.uri, root)}#L${start.line + 1}-L${last},${LINE_END}>)`;
}

/** From `/`, which stands for the root, to a URI: `/src/app.py`, `/../other/src/app.py`. */
function relative(uri: string, root: string): string {
  const [from, to] = [root.replace(/\/$/, "").split("/"), uri.split("/")];
  let common = 0;
  while (common < from.length && from[common] === to[common]) common++;
  return `/${[...from.slice(common).map(() => ".."), ...to.slice(common)].join("/")}`;
}

/** As a span of code, whatever backquotes there are in it. */
export function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const quotes = "`".repeat(longest + 1);
  const pad = text.startsWith("`") || text.endsWith("`") ? " " : "";
  return `${quotes}${pad}${text}${pad}${quotes}`;
}

function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}markdown\n${text}\n${fence}`;
}

/** Text in which Markdown sees nothing but text. */
export function escape(text: string): string {
  return text.replace(/[!-/:-@[-`{-~]/g, (mark) =>
    mark === "&" ? "&amp;" : mark === "<" ? "&lt;" : `\\${mark}`,
  );
}
