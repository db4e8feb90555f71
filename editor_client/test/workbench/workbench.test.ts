// The packaged extension in a VS Code workbench, in a browser, with the real server and model. All tests
// share one workbench, because it takes long to start.

import assert from "node:assert/strict";
import { basename } from "node:path";
import { after, afterEach, before, suite, test } from "node:test";

import { parts } from "./code_server.ts";
import { eventually } from "./eventually.ts";
import { namesPlace, resultsShown, showSecondRow } from "./palette.ts";
import { Panel } from "./panel.ts";
import { Project } from "./project.ts";
import { type Row, Workbench } from "./workbench.ts";

const READY_MS = 600_000;

void suite("a user works on a project", () => {
  let project: Project;
  let workbench: Workbench;

  before(async () => {
    project = await Project.make();
    workbench = await Workbench.open(project.folder, { settings: { "cairn.path": parts.command } });
    const state = () => workbench.server.indexState(project.folder);
    await eventually("the index is complete", async () => (await state()) === "ready", READY_MS);
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

  void test("the server that the setting names is started, and the log says so", async () => {
    await workbench.run("Cairn: Show Log");
    const output = workbench.page.locator(".output-view .view-lines");
    await eventually("the log is shown", async () => {
      const shown = await output.innerText();
      // What is shown has other spaces than what was written.
      return shown.replaceAll(/\s/g, "").includes("foundby:setting");
    });
    assert.ok((await workbench.server.log()).includes(parts.command));
    await workbench.run("View: Hide Panel");
  });

  void test("the context panel shows what belongs to the place of the cursor, and follows it", async () => {
    const panel = await Panel.show(workbench);
    await workbench.openFile("docs/design.md", await project.lineOf("docs/design.md", "**Order of work**"));
    await panel.isAbout("Indexing");
    const passages = await panel.passages();
    assert.ok(passages.length > 3, `${passages.length} passages`);
    await workbench.screenshot("panel");

    const line = await project.lineOf("server/cairn/paths.py", "def data_dir");
    await workbench.openFile("server/cairn/paths.py", line);
    await panel.isAbout("data_dir");
    assert.notDeepEqual(await panel.passages(), passages);
  });

  void test("a passage of the panel opens at its line", async () => {
    const panel = await Panel.show(workbench);
    const [first] = await panel.passages();
    assert.ok(first);
    await panel.open(first);
    await workbench.at(first.file, first.line);
  });

  void test("a pinned panel stays while the cursor moves, until it is unpinned", async () => {
    const panel = await Panel.show(workbench);
    await workbench.openFile(
      "docs/design.md",
      await project.lineOf("docs/design.md", "## Phases and fallbacks"),
    );
    await panel.isAbout("Phases and fallbacks");
    await workbench.run("Cairn: Pin to This Place");
    await panel.pinned.waitFor();
    const passages = await panel.passages();

    await workbench.openFile("docs/ranking.md", await project.lineOf("docs/ranking.md", "## Evidence"));
    await workbench.screenshot("panel-pinned");
    // It has heard of the other place by the time it has answered a command that came later.
    await workbench.copied("Cairn: Copy Context as Prompt", "design.md#L");
    assert.equal(await panel.title(), "Phases and fallbacks");
    assert.deepEqual(await panel.passages(), passages);

    await workbench.run("Cairn: Follow the Cursor Again");
    await panel.isAbout("Evidence");
  });

  void test("the panel's context is copied as a prompt that cites its lines", async () => {
    const panel = await Panel.show(workbench);
    const path = "server/cairn/paths.py";
    await workbench.openFile(path, await project.lineOf(path, "def data_dir"));
    await panel.isAbout("data_dir");
    const passages = await panel.passages();
    const prompt = await workbench.copied("Cairn: Copy Context as Prompt", "paths.py#L");
    // The budget may leave out passages with many lines.
    assert.ok(passages.some(({ file }) => prompt.includes(`${file}#L`)));
  });

  void test("a pinned panel goes back and forward through the places that it was pinned to", async () => {
    const panel = await Panel.show(workbench);
    const kill = "server/cairn/operations/kill_switch.py";
    await workbench.openFile(kill, await project.lineOf(kill, "class KillSwitch:"));
    await panel.isAbout("KillSwitch");
    await workbench.run("Cairn: Pin to This Place");
    await panel.pinned.waitFor();
    const paths = "server/cairn/paths.py";
    await workbench.openFile(paths, await project.lineOf(paths, "def data_dir"));
    await workbench.run("Cairn: Pin to This Place");
    await panel.isAbout("data_dir");
    await workbench.run("Cairn: Focus on Context View");
    // The keys work once the editor knows that the panel has the focus. At the ends they do nothing.
    for (const [key, title] of Object.entries({
      "Alt+ArrowLeft": "KillSwitch",
      "Alt+ArrowRight": "data_dir",
    })) {
      await eventually(`${key} leads to ${title}`, async () => {
        await workbench.page.keyboard.press(key);
        return (await panel.title()) === title;
      });
    }
    await panel.press("Back (Alt+Left)");
    await panel.isAbout("KillSwitch");
    await workbench.run("Cairn: Follow the Cursor Again");
    await panel.isAbout("data_dir");
  });

  void test("a section's link lists all callers in the references view", async () => {
    const panel = await Panel.show(workbench);
    const path = "server/cairn/paths.py";
    await workbench.openFile(path, await project.lineOf(path, "def _close"));
    await panel.isAbout("_close");
    await panel.press("All callers");
    await workbench.page.locator(".reference-zone-widget .monaco-list-row").first().waitFor();
    await workbench.page.keyboard.press("Escape");
  });

  void test("results appear while the user types, and the chosen one opens at its line", async () => {
    const path = "server/cairn/operations/kill_switch.py";
    const line = await project.lineOf(path, "class KillSwitch:");
    const input = await workbench.asked("Cairn: Search");
    await input.pressSequentially("phase swi");
    await eventually("rows for half a word", async () => (await resultsShown(workbench)).length > 0);
    await input.fill("KillSwitch");
    await eventually("the class is the first row", async () => {
      const [first] = await resultsShown(workbench);
      return first?.label === "KillSwitch" && first.description === `${path}:${line}`;
    });
    await workbench.quickInput.press("Enter");
    await workbench.at(path, line);
    await workbench.quickInput.waitFor({ state: "hidden" });
  });

  void test("enter means what is typed, also before its rows are there", async () => {
    const path = "server/cairn/paths.py";
    const line = await project.lineOf(path, "def data_dir");
    // Each of these gets a clarifying question in the first row, which the editor activates while the user
    // types.
    for (const before of ["static vectors", "how is a damaged index repaired"]) {
      await workbench.openFile("README.md");
      const input = await workbench.asked("Cairn: Search");
      await input.fill(before);
      await eventually("rows", async () => (await resultsShown(workbench)).length > 3);
      await input.fill("data_dir");
      await workbench.quickInput.press("Enter");
      await workbench.at(path, line);
    }
  });

  void test("a question is answered by meaning", async () => {
    const input = await workbench.asked("Cairn: Search");
    await input.fill("how is a damaged index repaired");
    await eventually("rows with the lines that match", async () =>
      (await resultsShown(workbench)).some(({ detail }) => /^\d+: \S/.test(detail)),
    );
    await workbench.screenshot("palette");
    const [first] = await resultsShown(workbench);
    await workbench.pressRowButton("Why?");
    await eventually("the reasons of the first row", async () => {
      const rows = await workbench.rows();
      return rows.some(({ label }) => label.startsWith("meaning of"));
    });
    await workbench.screenshot("palette-why");
    assert.equal((await resultsShown(workbench))[0]?.label, first?.label);
    await workbench.closePalette();
  });

  void test("the row to which the user moved stays active while they go on typing", async () => {
    await showSecondRow(workbench, "index");
    const focused = async () => (await workbench.rows()).find((row) => row.focused);
    const moved = await focused();
    assert.ok(moved);
    await workbench.page.keyboard.type(" ");
    await workbench.page.keyboard.press("Backspace");
    await eventually("the row is active again", async () => {
      const row = await focused();
      return row?.label === moved.label && row.description === moved.description;
    });
    await workbench.closePalette();
  });

  void test("moving through the rows shows them, and escape restores what was there", async () => {
    const line = await project.lineOf("README.md", "## Try it");
    await workbench.run("View: Close All Editors");
    await workbench.openFile("docs/design.md");
    await workbench.openFile("README.md", line);
    const tabs = await workbench.tabs();
    await showSecondRow(workbench, "static vectors");
    await workbench.screenshot("palette-preview");
    await workbench.closePalette();
    await workbench.at("README.md", line);
    await eventually("no other tab", async () => {
      // A file that was shown may have been in a tab before; its tab may be in another place now.
      assert.deepEqual(new Set(await workbench.tabs()), new Set(tabs));
      return true;
    });
  });

  void test("what is restored does not take the keys from what was opened meanwhile", async () => {
    const place = await workbench.place();
    await showSecondRow(workbench, "static vectors");
    await workbench.page.keyboard.press("Escape");
    await workbench.page.keyboard.press("F1");
    await workbench.at(place.file, place.line);
    await workbench.quickInput.pressSequentially("View: Close Editor");
    await eventually("the command", async () =>
      (await workbench.rows()).some(({ label }) => label === "View: Close Editor"),
    );
    await workbench.closePalette();
    assert.deepEqual(await workbench.place(), place);
  });

  void test("who goes on to discover leaves nothing of what the rows showed", async () => {
    const tabs = await workbench.tabs();
    await showSecondRow(workbench, "static vectors");
    await eventually("the last row is reached, up from the first one", async () => {
      if ((await workbench.rows()).some(({ label, focused }) => focused && label.startsWith("Discover")))
        return true;
      await workbench.page.keyboard.press("ArrowUp");
      return false;
    });
    await workbench.quickInput.press("Enter");
    const preview = workbench.webview("vscode.markdown-language-features");
    await preview.locator("h1", { hasText: "static vectors" }).waitFor();
    const [answer, ...others] = (await workbench.tabs()).filter((tab) => !tabs.includes(tab));
    assert.ok(answer);
    assert.deepEqual(others, []);
    await workbench.run("View: Close Editor");
  });

  void test("a filter leaves only what it names", async () => {
    const input = await workbench.asked("Cairn: Search");
    await input.fill("indexing thread");
    await eventually("rows of code", async () =>
      (await resultsShown(workbench)).some(({ description }) => /\.py:\d+$/.test(description)),
    );
    await input.fill("type:prose indexing thread");
    await eventually("rows of prose alone", async () => {
      const rows = await resultsShown(workbench);
      assert.notEqual(rows.length, 0);
      for (const { description } of rows) assert.match(description, /\.(md|txt):\d+$/);
      return true;
    });
    await workbench.closePalette();
  });

  void test("what was just saved is found, and so is what is not saved yet", async () => {
    const code = "server/cairn/paths.py";
    await workbench.openFile(code);
    await workbench.page.keyboard.press("Control+End");
    await workbench.page.keyboard.insertText("\n\ndef quarrel_of_herons():\n    return 7\n");
    await workbench.page.keyboard.press("Control+S");
    await eventually("it is saved", () => project.lineOf(code, "def quarrel_of_herons"));
    await searchFinds(workbench, "quarrel_of_herons", ([first]) => first?.description.startsWith(`${code}:`));

    const document = "docs/ranking.md";
    const end = (await project.read(document)).split("\n").length;
    await workbench.openFile(document);
    await workbench.page.keyboard.press("Control+End");
    await workbench.page.keyboard.insertText("\n## Parliament of owls\n\nThey confer at night.\n");
    await searchFinds(workbench, `path:${document} parliament of owls`, (rows) =>
      rows.some(
        ({ label, description }) =>
          label === "Parliament of owls" && description === `${document}:${end + 1}`,
      ),
    );
    assert.ok(!(await project.read(document)).includes("owls"));
    await workbench.run("File: Revert File");
  });

  void test("a question is answered with excerpts as code, and the prompt is one key away", async () => {
    const question = "what happens when the index is damaged";
    const input = await workbench.asked("Cairn: Discover");
    await input.fill(question);
    await workbench.quickInput.press("Enter");
    const preview = workbench.webview("vscode.markdown-language-features");
    await preview.locator("h1", { hasText: question }).waitFor();
    await preview.locator("h3 + p + pre code .hljs-keyword").first().waitFor();
    await workbench.screenshot("discover");

    await workbench.page.evaluate('navigator.clipboard.writeText("")');
    const prompt = await eventually("the prompt is on the clipboard", async () => {
      const copied = await workbench.clipboard();
      if (copied.includes(question)) return copied;
      await workbench.page.keyboard.press("c"); // again: the preview needs the focus for keys
      return undefined;
    });
    const path = await preview.locator("h3 a").first().innerText();
    assert.ok(prompt.includes(`### ${path}\n`), `${path} is in the prompt`);
    await preview.locator("h2", { hasText: "More on request" }).waitFor();

    await workbench.page.keyboard.press("p");
    await workbench.page.locator(".view-line", { hasText: "## Question" }).waitFor();
    await eventually("the prompt is shown", async () =>
      (await workbench.activeTab()).startsWith("Prompt, what happens"),
    );
    assert.equal(await workbench.copied("Cairn: Copy Prompt", question), prompt);
    await workbench.run("View: Close Editor");

    const excerpt = preview.locator("h3 + p > a").first();
    const cited = await excerpt.innerText();
    const [, first, last = first] = /^L(\d+)(?:-L(\d+))?$/.exec(cited) ?? [];
    await excerpt.click();
    await eventually(`${cited} of ${path} is open`, async () => {
      const { file, line } = await workbench.place();
      return file === basename(path) && Number(first) <= line && line <= Number(last);
    });
    await workbench.screenshot("discover-citation");
  });

  void test("the status says what serves and what is indexed", async () => {
    await workbench.run("Cairn: Show Status");
    const rows = await eventually("the status is shown", async () => {
      const shown = await workbench.rows();
      return shown.some(({ label }) => label === "Server") ? shown : undefined;
    });
    await workbench.screenshot("status");
    assert.ok(rows.some(({ label, description }) => label === "Server" && description === parts.command));
    assert.match(rows.map(({ label, description }) => `${label} ${description}`).join("\n"), /ready/i);
    await workbench.closePalette();
  });

  void test("a folder of the explorer is searched, and is indexed anew", async () => {
    await workbench.openFile("docs/design.md"); // the explorer scrolls to what is open
    await workbench.askedInExplorer("docs", "Search in This Folder", "path:/docs/ ");
    await workbench.page.keyboard.type("index");
    await eventually("rows of the folder alone", async () => {
      assert.equal(await workbench.quickInput.inputValue(), "path:/docs/ index");
      const rows = await resultsShown(workbench);
      assert.notEqual(rows.length, 0);
      for (const { description } of rows) assert.match(description, /^docs\//);
      return true;
    });
    await workbench.closePalette();
    await workbench.chooseInExplorer("docs", "Re-index");
    await workbench.status("Cairn: indexing docs anew").waitFor();
  });

  void test("a server that was killed is started again, and serves the page that is open", async () => {
    const [killed] = workbench.server.daemons();
    assert.ok(killed);
    process.kill(killed, "SIGKILL");
    await eventually("another server runs", () => workbench.server.daemons().some((pid) => pid !== killed));
    const panel = await Panel.show(workbench);
    await workbench.openFile("docs/design.md", await project.lineOf("docs/design.md", "## Phases and"));
    await panel.isAbout("Phases and fallbacks").catch(async (problem: unknown) => {
      await workbench.screenshot("panel-after-kill");
      throw new Error(await workbench.server.log(), { cause: problem });
    });
    assert.match(await workbench.server.log(), /starting it again/);
  });
});

/** Search until that finds it: what was changed a moment ago may not be indexed yet. */
async function searchFinds(
  workbench: Workbench,
  typed: string,
  found: (rows: Row[]) => boolean | undefined,
): Promise<void> {
  const input = await workbench.asked("Cairn: Search");
  await eventually(`what was asked for is found: ${typed}`, async () => {
    await input.fill(""); // or else the same is not asked again
    await eventually("no results", async () => (await resultsShown(workbench)).length === 0);
    await input.fill(typed);
    const rows = await eventually("an answer", async () => {
      const shown = await workbench.rows();
      return shown.some(isAnswer) && shown;
    });
    if (!found(rows.filter(namesPlace))) throw new Error(JSON.stringify(rows));
    return true;
  });
  await workbench.closePalette();
}

/** Whether the row is of an answer, be it that there is none. */
function isAnswer(row: Row): boolean {
  return namesPlace(row) || row.label === "Nothing found" || row.label === "Not searched";
}
