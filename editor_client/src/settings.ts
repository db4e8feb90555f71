// The settings of the server that the user set in the editor.

import { type ExtensionContext, workspace } from "vscode";

/** The settings of the extension itself. */
const OWN = ["path", "palette", "panel", "trace"];

/** A tree of settings, without the section's name. */
export type SettingsTree = Record<string, unknown>;

/**
 * Defaults are omitted, because they would hide the user's and the workspace's settings files, which have a
 * lower priority.
 */
export function serverSettings(context: ExtensionContext): SettingsTree {
  const tree: SettingsTree = {};
  const section = workspace.getConfiguration("cairn");
  for (const key of declaredKeys(context)) {
    const set = section.inspect(key);
    const values = [set?.globalValue, set?.workspaceValue, set?.workspaceFolderValue];
    if (values.some((value) => value !== undefined)) put(tree, key.split("."), section.get(key));
  }
  return tree;
}

function declaredKeys(context: ExtensionContext): string[] {
  const manifest = context.extension.packageJSON as {
    contributes: { configuration: { properties: Record<string, unknown> } };
  };
  return Object.keys(manifest.contributes.configuration.properties)
    .map((name) => name.slice("cairn.".length))
    .filter((key) => !OWN.includes(key.split(".", 1)[0] ?? ""));
}

function put(tree: SettingsTree, [first = "", ...rest]: string[], value: unknown): void {
  if (rest.length === 0) tree[first] = value;
  else put((tree[first] ??= {}) as SettingsTree, rest, value);
}
