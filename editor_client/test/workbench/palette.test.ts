// What the search palette offers beside its results: recent questions, further passages of a file, and keys.

import assert from "node:assert/strict";
import { after, afterEach, before, suite, test } from "node:test";

import { parts } from "./code_server.ts";
import { eventually } from "./eventually.ts";
import { resultsShown, showSecondRow } from "./palette.ts";
import { Project } from "./project.ts";
import { Workbench } from "./workbench.ts";

const READY_MS = 600_000;

void suite("a user asks in the palette", () => {
  let project: Project;
  let workbench: Workbench;

  before(async () => {
    project = await Project.make();
    workbench = await Workbench.open(project.folder, { settings: { "cairn.path": parts.command } });
    const state = () => workbench.server.indexState(project.folder);
    await eventually("the index is complete", async () => (await state()) === "ready", READY_MS);
    await workbench.openFile("README.md");
  });

  afterEach(async (context) => {
    if ("passed" in context && !context.passed) {
      await workbench.screenshot(`failed: ${context.name}`.replaceAll(/[^a-z]+/g, "-"));
      await workbench.closePalette();
    }
  });

  after(async () => {
    await workbench.close();
    await project.remove();
  });

  void test("an empty palette says what to type, with names of the project", async () => {
    await workbench.asked("Cairn: Search");
    await eventually("examples", async () => {
      const [row, ...others] = await workbench.rows();
      const examples = /^For example: (\w+) · how does \w+ work · type:prose \w+$/.exec(row?.detail ?? "");
      return others.length === 0 && examples?.[1] && (await project.defines(examples[1]));
    });
    await workbench.screenshot("palette-empty");
    await workbench.closePalette();
  });

  void test("a row is unfolded to further passages of its file, and folded again", async () => {
    await showSecondRow(workbench, "how is a damaged index repaired");
    const rows = await workbench.rows();
    const at = rows.findIndex(({ focused }) => focused);
    const [row, next] = rows.slice(at, at + 2);
    assert.ok(row && next);
    await workbench.page.keyboard.press("Alt+ArrowRight");
    const passages = await eventually("passages of the file", async () => {
      const shown = await workbench.rows();
      const end = shown.findIndex(({ label }) => label === next.label);
      assert.ok(shown[at]?.focused && shown[at].description.startsWith(row.description));
      return end > at + 1 && shown.slice(at + 1, end);
    });
    await workbench.screenshot("palette-unfolded");
    for (const { description } of passages) assert.match(description, /^\d+: \S/);

    const [path = ""] = row.description.split(":");
    const line = parseInt(passages[0]?.description ?? "", 10);
    await workbench.page.keyboard.press("ArrowDown");
    await workbench.at(path, line);
    await workbench.page.keyboard.press("Alt+ArrowLeft");
    await eventually("the rows before", async () => {
      assert.deepEqual(await workbench.rows(), rows);
      return true;
    });
    await workbench.pressRowButton("Show passages of this file");
    await eventually(
      "the passages again",
      async () => (await workbench.rows())[at + 1]?.label !== next.label,
    );
    await workbench.quickInput.press("ArrowDown");
    await workbench.quickInput.press("Enter");
    await workbench.at(path, line);
    await workbench.quickInput.waitFor({ state: "hidden" });
  });

  void test("of a name, the other lines of its file with the name are unfolded", async () => {
    const path = "server/cairn/operations/kill_switch.py";
    const input = await workbench.asked("Cairn: Search");
    await input.fill("KillSwitch");
    await eventually("the class", async () => (await resultsShown(workbench))[0]?.label === "KillSwitch");
    await workbench.page.keyboard.press("Alt+ArrowRight");
    const lines = await eventually("lines", async () => {
      const passages = (await workbench.rows()).filter(({ description }) => /^\d+: /.test(description));
      return passages.length > 2 && passages.map(({ description }) => parseInt(description, 10));
    });
    const text = (await project.read(path)).split("\n");
    for (const line of lines) assert.match(text[line - 1] ?? "", /KillSwitch/);
    await workbench.closePalette();
  });

  void test("recent questions are asked again, and removed", async () => {
    const [earlier, later] = ["type:code KillSwitch", "data_dir"];
    const opened = [
      [earlier, "server/cairn/operations/kill_switch.py", "class KillSwitch:"],
      [later, "server/cairn/paths.py", "def data_dir"],
    ] as const;
    for (const [question, path, text] of opened) {
      const input = await workbench.asked("Cairn: Search");
      await input.fill(question);
      await eventually("rows", async () => (await resultsShown(workbench)).length > 0);
      await workbench.quickInput.press("Enter");
      await workbench.at(path, await project.lineOf(path, text));
    }
    const input = await workbench.asked("Cairn: Search");
    const labels = async () => (await workbench.rows()).map(({ label }) => label);
    await eventually("the latest first", async () => {
      assert.deepEqual((await labels()).slice(0, 2), [later, earlier]);
      return true;
    });
    assert.equal((await workbench.rows())[0]?.group, "Recent questions");
    await workbench.screenshot("palette-recent");
    await workbench.page.keyboard.press("ArrowDown");
    await workbench.quickInput.press("Enter");
    await eventually("results", async () => (await resultsShown(workbench)).length > 0);
    assert.equal(await input.inputValue(), earlier);

    await input.fill("");
    await eventually("recent questions", async () => (await labels())[0] === later);
    await workbench.quickInput.press("Shift+Delete");
    await eventually("one less", async () => (await labels())[0] === earlier);
    await workbench.pressRowButton("Remove this question");
    await eventually("two less", async () => !(await labels()).includes(earlier));
    await workbench.quickInput.press("End");
    await workbench.page.keyboard.press("ArrowUp"); // From the first row to the last.
    await workbench.quickInput.press("Enter");
    await eventually("examples", async () => (await labels()).join() === "Type a question, a name or words");
    await workbench.closePalette();
  });

  void test("ctrl+enter asks discover what is typed, in the typed folder", async () => {
    await workbench.run("View: Close All Editors");
    const input = await workbench.asked("Cairn: Search");
    await input.fill("path:docs how is a damaged index repaired");
    await workbench.quickInput.press("Control+Enter");
    const preview = workbench.webview("vscode.markdown-language-features");
    await preview.locator("h1", { hasText: "how is a damaged index repaired" }).waitFor();
    for (const path of await preview.locator("h3 a").allInnerTexts()) assert.match(path, /^docs\//);
    await workbench.screenshot("palette-discover");
    await workbench.run("View: Close Editor");
  });
});
