// The accessibility of the context panel in a real workbench: axe-core in four themes, and the keyboard alone.
// The states are drawn by messages to the webview, since a project would have to be made for each.

import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, suite, test } from "node:test";

import type { Frame } from "playwright-core";

import type { Foldable, ToWebview } from "../../src/panel/messages.ts";
import { contentOfAbsence } from "../../src/panel/view_model.ts";
import { parts } from "./code_server.ts";
import { eventually } from "./eventually.ts";
import { Panel } from "./panel.ts";
import { type State, STATES } from "./panel_states.ts";
import { Workbench } from "./workbench.ts";

/** The themes by the class that the editor gives to the page of a webview. */
const THEMES = {
  "vscode-light": "Light 2026",
  "vscode-dark": "Dark 2026",
  "vscode-high-contrast": "Default High Contrast",
  "vscode-high-contrast-light": "Default High Contrast Light",
} as const;

/** In pixels. */
const NARROW_WIDTH = 220;

interface Violation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

void suite("the context panel is accessible", () => {
  let folder: string;
  let workbench: Workbench;
  let frame: Frame;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "cairn-empty-"));
    // Without a server, the extension draws nothing more after its first message.
    workbench = await Workbench.open(folder, { settings: { "cairn.path": "/no/cairn" }, onPath: false });
    frame = await openPanel(workbench);
  });

  after(async () => {
    await workbench.close();
    await rm(folder, { recursive: true });
  });

  for (const [className, theme] of Object.entries(THEMES)) {
    void test(`axe finds no violation in any state in the theme ${theme}`, async () => {
      await setTheme(folder, theme);
      await frame.locator(`body.${className}`).waitFor();
      for (const [name, state] of Object.entries(STATES)) {
        await show(frame, state);
        await workbench.screenshot(`panel-${name}-${className}`);
        assert.deepEqual(await violations(frame), [], name);
      }
    });
  }

  void test("everything fits into a narrow side bar", async () => {
    const { mouse } = workbench.page;
    const box = await workbench.page.locator(".part.sidebar").boundingBox();
    assert.ok(box);
    const [right, y] = [box.x + box.width, box.y + box.height / 2];
    await mouse.move(right, y);
    await mouse.down();
    await mouse.move(box.x + NARROW_WIDTH, y, { steps: 5 });
    await mouse.up();
    await eventually("the side bar is narrow", async () => (await width(frame)) <= NARROW_WIDTH);
    for (const [name, state] of Object.entries(STATES)) {
      await show(frame, state);
      await workbench.screenshot(`panel-${name}-narrow`);
      const wide = await frame.evaluate<number>("document.documentElement.scrollWidth");
      assert.ok(wide <= (await width(frame)), `${name} is ${wide} pixels wide`);
    }
  });

  void test("nothing moves where the user wants no motion, and forced colours keep all states apart", async () => {
    await workbench.page.emulateMedia({ reducedMotion: "reduce", forcedColors: "active" });
    for (const [name, state] of Object.entries(STATES)) {
      await show(frame, state);
      await workbench.screenshot(`panel-${name}-forced-colors`);
      assert.equal(await frame.evaluate("document.getAnimations().length"), 0, name);
      assert.deepEqual(await violations(frame), [], name);
    }
    const durations = `[...document.querySelectorAll("*")].map((each) => getComputedStyle(each))
      .filter((style) => style.transitionDuration !== "0s" || style.scrollBehavior !== "auto").length`;
    assert.equal(await frame.evaluate(durations), 0);
    await workbench.page.emulateMedia({ reducedMotion: null, forcedColors: null });
  });
});

async function setTheme(folder: string, theme: string): Promise<void> {
  await mkdir(join(folder, ".vscode"), { recursive: true });
  await writeFile(
    join(folder, ".vscode", "settings.json"),
    JSON.stringify({ "workbench.colorTheme": theme }),
  );
}

/** The panel's page, with axe-core. */
async function openPanel(workbench: Workbench): Promise<Frame> {
  const panel = await Panel.show(workbench);
  await panel.root.locator(".message ~ .link").first().waitFor();
  const root = await panel.root.elementHandle();
  const frame = await root.ownerFrame();
  assert.ok(frame);
  await frame.evaluate(await readFile(parts.axe, "utf8"));
  // The page is transparent, and axe-core does not see what is behind the frame.
  await frame.evaluate('document.body.style.background = "var(--vscode-sideBar-background)"');
  return frame;
}

/** Draw a state, fold its sections, and press its keys on the first passage. */
async function show(frame: Frame, state: State): Promise<void> {
  const { content, folds = {}, keys = [], hovered = false, absent } = state;
  // The focus, the scroll position and the reasons of the state before would stay.
  await post(frame, { type: "draw", content: contentOfAbsence({ why: "asking" }, undefined), folds: {} });
  await post(frame, { type: "draw", content, folds: {} });
  for (const heading of await frame.locator(".heading").all()) {
    const name = (await heading.getAttribute("data-section")) as Foldable;
    const folded = folds[name] ?? name === "empty";
    if ((await heading.getAttribute("aria-expanded")) === String(folded)) await heading.click();
  }
  for (const key of keys) await frame.locator(".passage").first().press(key);
  if (hovered) await frame.locator(".passage").first().hover();
  else await frame.page().mouse.move(640, 10);
  if (absent) await post(frame, absent);
}

/** Send a message as the extension does, and wait until the page has handled it. */
async function post(frame: Frame, message: ToWebview): Promise<void> {
  await frame.evaluate(`new Promise((handled) => {
    addEventListener("message", handled, { once: true });
    postMessage(${JSON.stringify(message)});
  }).then(() => undefined)`);
}

function width(frame: Frame): Promise<number> {
  return frame.evaluate<number>("document.documentElement.clientWidth");
}

async function violations(frame: Frame): Promise<string[]> {
  const run = "axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations)";
  const found = await frame.evaluate<readonly Violation[]>(run);
  return found.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${help}: ${html} (${failureSummary})`),
  );
}
