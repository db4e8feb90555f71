// The view *Change* of the packaged extension in a VS Code workbench, in a browser, with the real server.

import assert from "node:assert/strict";
import { after, afterEach, before, suite, test } from "node:test";

import { ChangeTree } from "./change.ts";
import { parts } from "./code_server.ts";
import { eventually } from "./eventually.ts";
import { HARBOUR } from "./harbour.ts";
import { Project } from "./project.ts";
import { Workbench } from "./workbench.ts";

const BERTHS = "harbour/berths.py";
/** The requests to the server, kept where they are not a change of the project. */
const REQUESTS = ".git/requests";
const STALE = "Still Use the Old Definition";

void suite("a user changes a project", () => {
  let project: Project;
  let workbench: Workbench;

  before(async () => {
    project = await Project.make({ ...HARBOUR, "pyproject.toml": "[tool.pytest]\n" });
    workbench = await Workbench.open(project.folder, {
      settings: {
        "cairn.path": await recorded(project),
        "cairn.embedding.enabled": false,
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

  void test("without a change, the view says so", async () => {
    const tree = await ChangeTree.show(workbench);
    await tree.says("Nothing has changed.");
    await workbench.screenshot("change-nothing");
  });

  void test("unsaved text counts: old uses come first, then tests and documents", async () => {
    const tree = await ChangeTree.show(workbench);
    await workbench.openFile(BERTHS, await project.lineOf(BERTHS, "def moor_ship"));
    await workbench.page.keyboard.press("End");
    await workbench.page.keyboard.press("ArrowLeft"); // to the colon
    await workbench.page.keyboard.press("ArrowLeft"); // to the parenthesis
    await workbench.page.keyboard.type(", pilot, hours");
    const stale = await tree.section(STALE);
    await workbench.screenshot("change");
    assert.ok(stale.some(({ description }) => description.includes("schedule.py:6")));
    assert.match(stale[0]?.spoken ?? "", /still uses the old definition/);
    const [changed] = await tree.section("Changed");
    assert.equal(changed?.label, "Berth.moor_ship");
    assert.match(changed.description, /^new signature · 2 uses/);
    const [first] = await tree.section("Tests to Run");
    assert.equal(first?.label, "test_a_ship_is_moored");
    const badge = workbench.page.locator('.activitybar .action-item:has([aria-label^="Cairn"]) .badge');
    assert.equal(await badge.innerText(), String(stale.length));
    assert.ok(!(await project.read(BERTHS)).includes("pilot"));
  });

  void test("a row opens at its line, and the keyboard alone reaches it", async () => {
    const tree = await ChangeTree.show(workbench);
    await tree.row("Berth.moor_ship(berth, ship)").click();
    await workbench.at("harbour/schedule.py", 6);
    await workbench.run("Cairn: Focus on Change View");
    const focused = async () => (await tree.rows()).find((row) => row.focused);
    for (const [key, level] of [
      ["Home", 1],
      ["ArrowDown", 2],
    ] as const) {
      await eventually(`${key} has led to a row`, async () => {
        // A key that is pressed before the tree has the focus does nothing.
        if ((await focused())?.level !== level) await workbench.page.keyboard.press(key);
        return (await focused())?.level === level;
      });
    }
    const row = await focused();
    await workbench.page.keyboard.press("Enter");
    await eventually("the place of the row is open", async () => {
      const { file, line } = await workbench.place();
      return row?.description.endsWith(`${file}:${line}`);
    });
  });

  void test("a folded section stays folded, in a new window too", async () => {
    const tree = await ChangeTree.show(workbench);
    await workbench.openFile(BERTHS);
    await workbench.run("File: Save");
    await tree.row("Usually Change With It").click();
    const isFolded = async () =>
      (await tree.rows()).some(
        ({ label, expanded }) => label === "Usually Change With It" && expanded === false,
      );
    await eventually("it is folded", isFolded);
    await workbench.run("Cairn: Refresh What the Change Touches");
    assert.ok(await isFolded());
    await workbench.run("Cairn: Show Log"); // the extension has handled the fold by the time it answers this
    await workbench.run("View: Hide Panel");
    await workbench.page.reload({ waitUntil: "domcontentloaded" });
    await ChangeTree.show(workbench);
    await eventually("it is still folded", isFolded);
    await workbench.screenshot("change-folded");
  });

  void test("the prompt for a reviewer is copied", async () => {
    await ChangeTree.show(workbench);
    const prompt = await workbench.copied("Cairn: Copy Review Prompt", "moor_ship");
    assert.match(prompt, /pilot/);
  });

  void test("the commands of the tests are shown, and run in a terminal", async () => {
    const tree = await ChangeTree.show(workbench);
    await tree.section("Tests to Run");
    await tree.press("Run These Tests");
    const rows = await eventually("the commands are shown", async () => {
      const shown = await workbench.rows();
      return shown.length > 0 && shown;
    });
    await workbench.screenshot("change-tests");
    assert.match(rows[0]?.label ?? "", /pytest.*test_berths\.py/);
    await workbench.page.keyboard.press("Enter");
    await workbench.page.locator(".part.panel", { hasText: "tests of the change" }).waitFor();
    await workbench.screenshot("change-terminal");
    await workbench.run("View: Hide Panel");
  });

  void test("another commit, branch or tag can be compared with", async () => {
    const tree = await ChangeTree.show(workbench);
    await workbench.run("Cairn: Compare with…");
    await eventually("the branch is offered", async () =>
      (await workbench.rows()).some(({ label }) => label === "main"),
    );
    await workbench.screenshot("change-compare");
    await workbench.quickInput.fill("main");
    await workbench.page.keyboard.press("Enter");
    await tree.pane.locator(".description", { hasText: "since main" }).waitFor();
    await tree.section("Changed");
  });

  void test("a hidden view asks nothing, and shows the present state when it is seen again", async () => {
    const asked = async () => (await project.read(REQUESTS)).split("cairn/change").length;
    await workbench.run("View: Show Explorer");
    const before = await asked();
    await workbench.openFile(BERTHS, await project.lineOf(BERTHS, "def free_berths"));
    await workbench.page.keyboard.press("Control+End");
    await workbench.page.keyboard.insertText("\n\ndef quarrel_of_herons(nests):\n    return nests\n");
    await workbench.page.keyboard.press("Control+S");
    await eventually("it is saved", () => project.lineOf(BERTHS, "quarrel_of_herons"));
    await workbench.copied("File: Copy Path of Active File", "berths.py");
    assert.equal(await asked(), before);
    const tree = await ChangeTree.show(workbench);
    await tree.section("Changed", (rows) => rows.some(({ label }) => label === "quarrel_of_herons"));
    assert.ok((await asked()) > before);
  });
});

/** A command that starts the server and keeps its requests. */
function recorded(project: Project): Promise<string> {
  const server = `tee -a '${project.folder}/${REQUESTS}' | ${parts.command} "$@"`;
  return project.script(".git/cairn", `case "$1" in lsp) ${server};; *) exec ${parts.command} "$@";; esac`);
}

void suite("the folder is not trusted", () => {
  void test("tests are not offered, and the rest works without the git extension", async () => {
    const project = await Project.make(HARBOUR);
    const workbench = await Workbench.open(project.folder, {
      settings: { "cairn.embedding.enabled": false },
      trusted: false,
    });
    try {
      const tree = await ChangeTree.show(workbench);
      await tree.says("Nothing has changed.");
      await workbench.openFile(BERTHS, await project.lineOf(BERTHS, "return [berth"));
      await workbench.page.keyboard.press("End");
      await workbench.page.keyboard.type(" or berths");
      await tree.section("Changed");
      const names = await tree.buttons();
      assert.ok(names.includes("Copy Review Prompt"), names.join());
      assert.ok(!names.includes("Run These Tests"), names.join());
      await workbench.screenshot("change-untrusted");
    } finally {
      await workbench.close();
      await project.remove();
    }
  });
});
