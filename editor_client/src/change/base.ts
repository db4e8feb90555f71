// Asks the user what to compare the files with.

import { type QuickPickItem, QuickPickItemKind, type Uri, window } from "vscode";

import type { Reference, SourceControl } from "./source_control.ts";

interface BaseItem extends QuickPickItem {
  readonly base?: string;
}

const TITLE = "Cairn: Compare with…";
const LAST_COMMIT: BaseItem = {
  label: "$(git-commit) Last commit",
  description: "uncommitted changes",
  base: "",
};
const OTHER: BaseItem = { label: "$(edit) Other…", description: "a commit, branch or tag, such as HEAD~3" };
const SHORT = 8;

/** A commit, branch or tag; "" for the last commit; undefined if the user chose none. */
export async function askForBase(control: SourceControl, folder: Uri): Promise<string | undefined> {
  const { references, commits } = await control.history(folder);
  const named = (type: Reference["type"], icon: string) =>
    references.flatMap(({ type: own, name, commit = "" }) =>
      own === type && name
        ? [{ label: `$(${icon}) ${name}`, description: commit.slice(0, SHORT), base: name }]
        : [],
    );
  const items: BaseItem[] = [
    LAST_COMMIT,
    OTHER,
    ...group("branches", [...named(0, "git-branch"), ...named(1, "cloud")]),
    ...group("tags", named(2, "tag")),
    ...group(
      "commits",
      commits.map(({ hash, message }) => ({
        label: `$(git-commit) ${message.split("\n", 1)[0] ?? ""}`,
        description: hash.slice(0, SHORT),
        base: hash,
      })),
    ),
  ];
  const picked = await window.showQuickPick(items, { title: TITLE, matchOnDescription: true });
  if (picked !== OTHER) return picked?.base;
  const typed = await window.showInputBox({
    title: TITLE,
    prompt: "A commit, branch or tag, such as HEAD~3",
  });
  return typed?.trim();
}

function group(label: string, items: readonly BaseItem[]): BaseItem[] {
  return items.length > 0 ? [{ label, kind: QuickPickItemKind.Separator }, ...items] : [];
}
