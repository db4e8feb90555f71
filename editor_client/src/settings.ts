// The settings that concern the server, as somebody set them in the editor.

import { type ExtensionContext, workspace } from "vscode";

/** Settings of the extension itself, which the server does not know. */
const OWN = ["path", "palette", "panel", "trace"];

/** Settings as the server takes them: a tree, without the section's name. */
export type SettingsTree = Record<string, unknown>;

/**
 * Defaults are left out: they would hide the settings files of the user and the workspace, which are weaker than the editor.
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
