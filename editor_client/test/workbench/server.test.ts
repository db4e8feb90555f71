// Which server the extension starts, and what it says where there is none; each in a workbench of its own.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, suite, test } from "node:test";

import { parts } from "./code_server.ts";
import { eventually } from "./eventually.ts";
import { LARGE, Project } from "./project.ts";
import { Workbench } from "./workbench.ts";

const READY_MS = 600_000;

void suite("the user has set nothing", () => {
  let project: Project;

  before(async () => {
    project = await Project.make();
  });

  after(() => project.remove());

  void test("the server on the PATH is started", async () => {
    const workbench = await Workbench.open(project.folder);
    try {
      await workbench.logged("found by: path");
    } finally {
      await workbench.close();
    }
  });

  void test("the status bar shows the progress of indexing until that is complete", async () => {
    const project = await Project.make(undefined, LARGE);
    const workbench = await Workbench.open(project.folder);
    try {
      await workbench.status(/Cairn: [\d,]+ of [\d,]+ files/).waitFor();
      const state = () => workbench.server.indexState(project.folder);
      await eventually("the index is complete", async () => (await state()) === "ready", READY_MS);
      await workbench.status(/Cairn: \S/).waitFor({ state: "detached" });
    } finally {
      await workbench.close();
      await project.remove();
    }
  });

  void test("a server that the workspace names is started only once that is trusted", async () => {
    const project = await Project.make();
    const named = await project.script("tools/cairn", `touch "$0.started"; exec ${parts.command} "$@"`);
    await project.set({ "cairn.path": named });
    const workbench = await Workbench.open(project.folder, { trusted: false });
    try {
      await workbench.logged("found by: path");
      await eventually("its folder is searched", () => workbench.server.indexState(project.folder));
      assert.ok(!existsSync(`${named}.started`));
      await workbench.run("Workspaces: Manage Workspace Trust");
      await workbench.page.getByRole("button", { name: "Trust", exact: true }).click();
      await workbench.logged("found by: setting");
      await eventually("it is started", () => existsSync(`${named}.started`)); // the log says so before
    } finally {
      await workbench.close();
      await project.remove();
    }
  });

  void test("where there is none, a message offers to install it", async () => {
    const workbench = await Workbench.open(project.folder, { onPath: false });
    try {
      await eventually("the message is shown", async () =>
        (await workbench.toasts()).some((message) => /Cairn.*server/.test(message)),
      );
      await workbench.page.getByRole("button", { name: "Install", exact: false }).first().waitFor();
      await workbench.screenshot("missing");
    } finally {
      await workbench.close();
    }
  });
});
