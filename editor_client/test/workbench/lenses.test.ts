// Code lenses and hovers of the packaged extension in a VS Code workbench, in a browser, with the real
// server.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { after, afterEach, before, suite, test } from "node:test";

import { parts } from "./code_server.ts";
import { eventually } from "./eventually.ts";
import { HARBOUR } from "./harbour.ts";
import { above, lens, picture, pictures, type Picture } from "./lenses.ts";
import { Panel } from "./panel.ts";
import { Project } from "./project.ts";
import { Workbench } from "./workbench.ts";

/** Thirty characters and where a user types them: after a text, in a line of its own if that ends with ⏎. */
const TYPED = [
  ["self.ship = ship⏎", "berth = self.ship or self.berth"],
  ["self.ship = ship⏎", "while self.ships[(0 if (ship :="],
  ["def moor_ship(self, ship", ", pilot=None, hours: float = 2."],
  ["without a ship", ", which is a list of all of them"],
] as const;
const KEYSTROKE_MS = 80;
/** Longer than the editor and the server wait after the last keystroke. */
const SETTLED_MS = 3000;

void suite("context stands where the code is", () => {
  let project: Project;
  let workbench: Workbench;

  before(async () => {
    project = await Project.make(HARBOUR);
    workbench = await Workbench.open(project.folder, {
      settings: {
        "cairn.path": parts.command,
        "cairn.embedding.enabled": false,
        "typescript.referencesCodeLens.enabled": true,
      },
    });
  });

  afterEach(async (context) => {
    if ("passed" in context && !context.passed) {
      await workbench.screenshot(`failed: ${context.name}`.replaceAll(/[^a-z]+/g, "-"));
    }
  });

  after(async () => {
    await workbench.close();
    await project.remove();
  });

  void test("lenses above definitions count their callers and tests", async () => {
    await openBerths(workbench);
    await eventually("all are counted", async () => {
      const shown = await picture(workbench);
      assert.match(above(shown, "def moor_ship"), /^1 caller *\| *1 test/);
      assert.match(above(shown, "def free_berths"), /^1 caller/);
      return true;
    });
    await workbench.screenshot("lenses");
  });

  void test("a lens opens the panel at its section, pinned to its definition", async () => {
    await openBerths(workbench);
    await lens(workbench, "1 test").first().click();
    const panel = await Panel.shown(workbench);
    await panel.pinned.waitFor();
    await panel.isAbout("moor_ship");
    await workbench.webview("cairn.cairn").locator("[data-section=tests]:focus").waitFor();
    await workbench.screenshot("lens-panel");
    await workbench.run("Cairn: Follow the Cursor Again");
  });

  for (const [place, typed] of TYPED) {
    void test(`nothing moves while the user types ${typed}`, async () => {
      const [text = "", ...newLine] = place.split("⏎");
      await openBerths(workbench);
      await goAfter(workbench, await project.read("harbour/berths.py"), text);
      if (newLine.length > 0) await workbench.page.keyboard.press("Enter");
      await pause(SETTLED_MS);
      const before = await picture(workbench);
      const seen = await pictures(workbench, async () => {
        await workbench.page.keyboard.type(typed, { delay: KEYSTROKE_MS });
        await pause(SETTLED_MS);
      });
      assert.ok(seen.length > typed.length, `${seen.length} pictures`);
      for (const [at, each] of seen.entries()) {
        assert.deepEqual(tops(each), tops(before), `picture ${at} of ${seen.length}`);
        assert.deepEqual(each.lenses, before.lenses, `picture ${at} of ${seen.length}`);
      }
      await workbench.screenshot(`lenses-typed-${TYPED.findIndex((each) => each[1] === typed)}`);
      await workbench.run("File: Revert File");
    });
  }

  void test("the hover of a name says which document explains it", async () => {
    await openBerths(workbench);
    await workbench.page
      .locator(".view-line span", { hasText: /^moor_ship$/ })
      .last()
      .hover();
    const hover = workbench.page.locator(".monaco-hover:visible", { hasText: "Explained in" });
    await hover.waitFor();
    assert.match(await hover.innerText(), /Explained in berths\.md/);
    await workbench.screenshot("hover");
  });

  void test("a lens that another extension gives is not repeated", async () => {
    await workbench.openFile("src/tug.ts");
    await eventually("only the lenses of TypeScript", async () => {
      const drawn = await picture(workbench);
      return above(drawn, "class Tug") === "1 reference" && above(drawn, "pull(ship") === "1 reference";
    });
    await workbench.screenshot("lenses-of-two");
  });
});

/** Open a file whose lenses are drawn. */
async function openBerths(workbench: Workbench, line = 1): Promise<void> {
  await workbench.openFile("harbour/berths.py", line);
  await eventually("the lenses are drawn", async () => {
    const drawn = await picture(workbench);
    return above(drawn, "def free_berths").includes("caller");
  });
}

/** Put the cursor after the first place with a text. */
async function goAfter(workbench: Workbench, file: string, text: string): Promise<void> {
  const lines = file.slice(0, file.indexOf(text) + text.length).split("\n");
  await workbench.run("Go to Line/Column...");
  await workbench.quickInput.fill(`:${lines.length}:${(lines.at(-1)?.length ?? 0) + 1}`);
  await workbench.page.keyboard.press("Enter");
  await workbench.at("harbour/berths.py", lines.length);
}

function tops({ lines }: Picture): number[] {
  return lines.map(({ top }) => top);
}
