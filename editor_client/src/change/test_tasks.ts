// Runs the tests of a change in terminals, once the user has seen the commands.

import {
  type QuickPickItem,
  ShellExecution,
  Task,
  TaskGroup,
  TaskPanelKind,
  TaskRevealKind,
  tasks,
  Uri,
  window,
  workspace,
  type WorkspaceFolder,
} from "vscode";

import type { TestCommand } from "../protocol.ts";

interface CommandItem extends QuickPickItem {
  readonly test: TestCommand;
}

/** Nothing of an untrusted workspace is started. */
export async function runTests(commands: readonly TestCommand[], folder: WorkspaceFolder): Promise<void> {
  if (!workspace.isTrusted || commands.length === 0) return;
  const items = commands.map((test): CommandItem => ({
    label: test.command,
    description: test.folder,
    detail: test.paths.join(", "),
    picked: true,
    test,
  }));
  const picked = await window.showQuickPick(items, {
    canPickMany: true,
    title: "Cairn: Run These Tests",
    placeHolder: "The chosen commands run in a terminal",
  });
  for (const { test } of picked ?? []) await tasks.executeTask(taskOf(test, folder));
}

function taskOf(test: TestCommand, folder: WorkspaceFolder): Task {
  const cwd = Uri.joinPath(folder.uri, test.folder).fsPath;
  const name = ["tests of the change", test.folder].filter(Boolean).join(" in ");
  const task = new Task({ type: "shell" }, folder, name, "Cairn", new ShellExecution(test.command, { cwd }));
  task.group = TaskGroup.Test;
  task.presentationOptions = { reveal: TaskRevealKind.Always, panel: TaskPanelKind.Dedicated };
  return task;
}
