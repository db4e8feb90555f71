// Takes screenshots of Discover in a real workbench, for questions about a folder:
// node test/workbench/discover_screenshots.ts FOLDER QUESTION... writes test-results/discover-1-1.png etc.
// The variables are those of scripts/test-editor (`parts` in code_server.ts).

import { setTimeout as pause } from "node:timers/promises";

import { parts } from "./code_server.ts";
import { eventually } from "./eventually.ts";
import { Workbench } from "./workbench.ts";

/** Windows of an answer that are shown. */
const PICTURES = 2;
const DRAWN_MS = 1500;
const READY_MS = 240_000;

const [folder = "", ...questions] = process.argv.slice(2);
const workbench = await Workbench.open(folder, { settings: { "cairn.path": parts.command } });
try {
  const state = () => workbench.server.indexState(folder);
  await eventually("the index is complete", async () => (await state()) === "ready", READY_MS);
  await workbench.run("View: Hide Primary Side Bar").catch(() => undefined);
  for (const [index, question] of questions.entries()) {
    await workbench.run("View: Close All Editors");
    const input = await workbench.asked("Cairn: Discover");
    await input.fill(question);
    await workbench.page.keyboard.press("Enter");
    const preview = workbench.webview("vscode.markdown-language-features");
    await preview.locator("h1", { hasText: question }).waitFor();
    for (let picture = 1; picture <= PICTURES; picture++) {
      await pause(DRAWN_MS);
      await workbench.screenshot(`discover-${index + 1}-${picture}`);
      await workbench.page.keyboard.press("PageDown");
    }
  }
} finally {
  await workbench.close();
}
