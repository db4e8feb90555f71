// The accessibility of the context panel in a real workbench: axe-core in four themes, and the keyboard.
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
      for (const [name, state] of Object.entries<State>(STATES)) {
        await draw(frame, state);
        await workbench.screenshot(`panel-${name}-${className}`);
        assert.deepEqual(await violations(frame), [], name);
      }
    });
  }

  void test("the keyboard alone reaches every button, opens the reasons and folds sections", async () => {
    const { keyboard } = workbench.page;
    const focused = () => frame.evaluate<string>("document.activeElement?.dataset.id ?? ''");
    const reached = new Set<string>();
    const press = async (...keys: string[]) => {
      for (const key of keys) await keyboard.press(key);
      reached.add(await focused());
    };
    await draw(frame, STATES.pinned);
    await workbench.run("Cairn: Focus on Context View");
    // The header's buttons come before the first passage.
    while (!(await frame.evaluate('document.activeElement?.classList.contains("passage")')))
      await press("Tab");
    const first = await focused();
    await press("Home");
    for (let last = ""; last !== (await focused());) {
      last = await focused();
      const row = "document.activeElement.closest('li, .top')";
      const others = (await frame.evaluate<number>(`${row}.querySelectorAll("button").length`)) - 1;
      for (let each = 0; each < others; each++) await press("Tab");
      for (let each = 0; each < others; each++) await press("Shift+Tab");
      assert.equal(await focused(), last);
      await press("ArrowDown");
    }
    reached.delete(""); // before the panel had the focus
    const all = '[...document.querySelectorAll("button")].map((each) => each.dataset.id)';
    assert.deepEqual([...reached].sort(), (await frame.evaluate<string[]>(all)).sort());

    await press("Home", "ArrowDown");
    assert.equal(await focused(), first);
    const reasons = frame.getByRole("group", { name: "Why Flask.dispatch_request is shown" });
    await press("w");
    await reasons.waitFor();
    await frame.locator("[role=status]", { hasText: "calls it 0.80 × 10" }).waitFor();
    await press("Escape");
    await reasons.waitFor({ state: "detached" });
    await press("Tab", "Enter");
    await reasons.waitFor();
    await press("Escape");
    assert.equal(await focused(), first);

    await press("ArrowLeft");
    assert.equal(await focused(), "section callers");
    const heading = frame.getByRole("button", { name: "Called and used by" });
    for (const [key, expanded] of Object.entries({ ArrowLeft: "false", Enter: "true", " ": "false" })) {
      await press(key);
      assert.equal(await heading.getAttribute("aria-expanded"), expanded, key);
    }
    await press("ArrowDown");
    assert.equal(await focused(), "section used");
    await press("ArrowUp", "ArrowRight");
    assert.equal(await heading.getAttribute("aria-expanded"), "true");
  });

  void test("a section that is shown is unfolded and has the focus; an empty one is said to be", async () => {
    await draw(frame, { ...STATES.passages, folds: { documents: true } });
    await post(frame, { type: "reveal", section: "documents", absent: "", all: "" });
    await frame.locator("#heading-documents:focus[aria-expanded=true]").waitFor();
    await draw(frame, STATES.absent);
    await frame.locator(".absent", { hasText: "Nothing is shown under “Tests”." }).waitFor();
    await frame.locator("[role=status]", { hasText: "Nothing is shown under “Tests”." }).waitFor();
    await frame.locator(".absent button:focus", { hasText: "All tests" }).waitFor();
  });

  void test("folded sections stay folded at another place and in a new window", async () => {
    await draw(frame, { ...STATES.passages, folds: { tests: true, empty: false } });
    // The extension has handled the folds by the time it has answered a command that came later.
    await workbench.run("Cairn: Show Log");
    await workbench.run("View: Hide Panel");
    await workbench.page.reload({ waitUntil: "domcontentloaded" });
    frame = await openPanel(workbench);
    await post(frame, { type: "draw", content: STATES.indexing.content, folds: {} });
    await frame.locator("#heading-tests[aria-expanded=false]").waitFor();
    await frame.locator("#heading-empty[aria-expanded=true]").waitFor();
    await frame.locator("#heading-callers[aria-expanded=true]").waitFor();
  });

  void test("the page ignores what an earlier version kept", async () => {
    const page = await workbench.page.context().newPage();
    await page.evaluate(`globalThis.acquireVsCodeApi = () => ({
      getState: () => ({ version: 1, content: { key: "old", groups: [] } }),
      setState: () => undefined,
      postMessage: () => undefined,
    })`);
    await page.addScriptTag({ path: join(import.meta.dirname, "..", "..", "dist", "panel.js") });
    await post(page.mainFrame(), { type: "draw", content: STATES.passages.content, folds: {} });
    await page.locator("#heading-callers").waitFor();
    await page.close();
  });

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
    for (const [name, state] of Object.entries<State>(STATES)) {
      await draw(frame, state);
      await workbench.screenshot(`panel-${name}-narrow`);
      const wide = await frame.evaluate<number>("document.documentElement.scrollWidth");
      assert.ok(wide <= (await width(frame)), `${name} is ${wide} pixels wide`);
    }
  });

  void test("nothing moves if motion is reduced, and forced colours have no violation", async () => {
    await workbench.page.emulateMedia({ reducedMotion: "reduce", forcedColors: "active" });
    for (const [name, state] of Object.entries<State>(STATES)) {
      await draw(frame, state);
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
async function draw(frame: Frame, state: State): Promise<void> {
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
