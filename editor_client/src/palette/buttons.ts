// The rows of the palette as items of the editor's quick pick, with their buttons. The tooltips name the keys
// that do the same, which package.json binds.

import { env, type QuickInputButton, type QuickPickItem, QuickPickItemKind, ThemeIcon } from "vscode";

import type { Row } from "./rows.ts";

export type Item = QuickPickItem & { readonly row: Row };

export const DISCOVER = button("lightbulb", "Discover what is typed", "Ctrl+Enter", "Cmd+Enter");
export const UNFOLD = button("chevron-right", "Show passages of this file", "Alt+Right", "Cmd+Alt+Right");
export const FOLD = button("chevron-down", "Hide passages of this file", "Alt+Left", "Cmd+Alt+Left");
export const WHY = button("question", "Why?", "Ctrl+/", "Cmd+/");
export const BESIDE = button("split-horizontal", "Open to the side", "Alt+Enter", "Alt+Enter");
export const REMOVE = button("close", "Remove this question", "Shift+Delete", "Shift+Backspace");

function button(icon: string, name: string, key: string, mac: string): QuickInputButton {
  return { iconPath: new ThemeIcon(icon), tooltip: `${name} (${keyName(key, mac)})` };
}

/** On a remote machine the extension does not know the system of the user's keyboard. */
function keyName(key: string, mac: string): string {
  if (env.remoteName === undefined) return process.platform === "darwin" ? mac : key;
  return key === mac ? key : `${key}, on macOS ${mac}`;
}

/** `isFixed` tells that typing narrows down the rows, which have no question. */
export function itemOf(row: Row, isFixed: boolean): Item {
  if (row.kind === "separator") return { row, label: row.label, kind: QuickPickItemKind.Separator };
  const description = descriptionOf(row);
  return {
    row,
    label: row.label,
    alwaysShow: !isFixed || row.kind === "reason",
    ...(description === undefined ? {} : { description }),
    ...(row.detail === undefined ? {} : { detail: row.detail }),
    buttons: buttonsOf(row, isFixed),
  };
}

/** It tells users of screen readers that a row is unfolded. */
function descriptionOf(row: Row): string | undefined {
  if (row.kind !== "result" || row.unfolded === 0) return row.description;
  const count = row.unfolded === 1 ? "1 passage" : `${row.unfolded} passages`;
  return `${row.description ?? ""} • ${count} below`;
}

function buttonsOf(row: Row, isFixed: boolean): QuickInputButton[] {
  if (row.kind === "passage") return [BESIDE];
  if (row.kind === "recent") return [REMOVE];
  if (row.kind !== "result") return [];
  const passages = row.unfolded > 0 ? FOLD : UNFOLD;
  return isFixed ? [WHY, BESIDE] : [passages, WHY, BESIDE];
}
