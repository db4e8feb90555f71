// Code lenses as they are drawn in the active editor.

import type { Locator } from "playwright-core";

import type { Workbench } from "./workbench.ts";

const PICTURE_MS = 50;

/** A lens, or a line of the text, and how many pixels it is below the top of the window. */
export interface Drawn {
  readonly text: string;
  readonly top: number;
}

/** What the active editor shows at one moment. */
export interface Picture {
  readonly lenses: readonly Drawn[];
  readonly lines: readonly Drawn[];
}

/** Runs in the page: returns what the active editor shows now. */
const PICTURE = `(() => {
  const editor = document.querySelector(".editor-group-container.active .monaco-editor");
  const drawn = (selector) => [...editor.querySelectorAll(selector)].map((each) => ({
    text: each.textContent.replaceAll("\\u00a0", " ").trim(),
    top: each.getBoundingClientRect().top,
  })).sort((one, other) => one.top - other.top);
  return { lenses: drawn(".codelens-decoration"), lines: drawn(".view-lines .view-line") };
})()`;

export function picture(workbench: Workbench): Promise<Picture> {
  return workbench.page.evaluate(PICTURE);
}

/** The lens lines above the line that contains a text; "" if it has none. */
export function above({ lenses, lines }: Picture, text: string): string {
  const at = lines.findIndex((line) => line.text.includes(text));
  const [before, line] = [lines[at - 1]?.top ?? -Infinity, lines[at]?.top ?? -Infinity];
  return lenses.find(({ top }) => before < top && top < line)?.text ?? "";
}

/** Take a picture every 50 ms while something is done. */
export async function pictures(workbench: Workbench, work: () => Promise<void>): Promise<Picture[]> {
  await workbench.page.evaluate(`
    globalThis.cairnPictures = [];
    globalThis.cairnCamera = setInterval(() => globalThis.cairnPictures.push(${PICTURE}), ${PICTURE_MS});`);
  await work();
  return workbench.page.evaluate("clearInterval(globalThis.cairnCamera), globalThis.cairnPictures");
}

/** The link of a lens. */
export function lens(workbench: Workbench, text: string | RegExp): Locator {
  return workbench.page.locator(".editor-group-container.active .codelens-decoration a", { hasText: text });
}
