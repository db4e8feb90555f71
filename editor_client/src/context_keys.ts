// The keys that keybindings and menus depend on.

import { commands } from "vscode";

export function setKey(name: string, value = false): void {
  void commands.executeCommand("setContext", `cairn.${name}`, value);
}
