// Types queries into the search palette of a real workbench, and measures the time from each keystroke to its
// rows. benchmarks/palette_latency.py runs this script and passes the queries.

import { readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";

import type { Page } from "playwright-core";

import { parts } from "./code_server.ts";
import { eventually } from "./eventually.ts";
import { Workbench } from "./workbench.ts";

interface Task {
  readonly workspace: string;
  readonly data: string;
  readonly rounds: readonly Round[];
}

interface Round {
  /** Milliseconds between two keystrokes. */
  readonly spacing: number;
  readonly questions: readonly string[];
  /** Whether it is measured, or only warms up. */
  readonly counts: boolean;
}

/** From this spacing on every keystroke's rows are there before the next one. */
const EACH_MS = 200;
/** From the last keystroke until nothing more is awaited for it. */
const SETTLED_MS = 600;

/** Runs in the page: the times of keys, and of frames with changed rows, in milliseconds of one clock. */
const WATCH = `(() => {
  const seen = (globalThis.cairnSeen = { keys: [], rows: [] });
  addEventListener("keydown", (event) => event.key.length === 1 && seen.keys.push(performance.now()), true);
  const list = document.querySelector(".quick-input-widget .quick-input-list");
  new MutationObserver(() => requestAnimationFrame(() => seen.rows.push(performance.now())))
    .observe(list, { subtree: true, childList: true, characterData: true });
})()`;

/** Milliseconds from each keystroke to the last frame with changed rows before the next one. */
async function typed(page: Page, question: string, spacing: number): Promise<number[]> {
  await page.evaluate("globalThis.cairnSeen.keys.length = globalThis.cairnSeen.rows.length = 0");
  for (const character of question) {
    await page.keyboard.type(character);
    await pause(spacing);
  }
  await pause(SETTLED_MS);
  const { keys, rows } = await page.evaluate<{ keys: number[]; rows: number[] }>("globalThis.cairnSeen");
  if (keys.length !== question.length) throw new Error(`${keys.length} keys were seen of ${question}`);
  return keys.flatMap((key, at) => {
    const next = keys[at + 1] ?? Infinity;
    const shown = rows.findLast((time) => time > key && time < next);
    return shown === undefined ? [] : [shown - key];
  });
}

const task = JSON.parse(await readFile(process.argv[2] ?? "", "utf8")) as Task;
const workbench = await Workbench.open(task.workspace, {
  settings: { "cairn.path": parts.command },
  cairnData: task.data,
});
try {
  const { page } = workbench;
  await eventually("the index is complete", async () => {
    return (await workbench.server.indexState(task.workspace)) === "ready";
  });
  const input = await workbench.asked("Cairn: Search");
  await page.evaluate(WATCH);
  const measured: object[] = [];
  for (const { spacing, questions, counts } of task.rounds) {
    const ms: number[] = [];
    for (const question of questions) {
      await input.fill("");
      await pause(SETTLED_MS);
      const times = await typed(page, question, spacing);
      ms.push(...(spacing >= EACH_MS ? times : times.slice(-1)));
    }
    const keystrokes = questions.join("").length;
    if (counts) measured.push({ spacing, questions: questions.length, keystrokes, ms });
  }
  console.log(JSON.stringify(measured));
} finally {
  await workbench.close();
}
