// Shows problems of the server, with remedies.

import { commands, type Disposable, window } from "vscode";

import type { Server } from "./server.ts";
import { describe, type Health } from "./status_text.ts";

interface Remedy {
  readonly label: string;
  readonly command: string;
  readonly argument?: string;
}

const INSTALL = { label: "Install", command: "cairn.installServer" };
const HOW = { label: "How to Install", command: "extension.open", argument: "cairn.cairn" };
const PATH = { label: "Set Path", command: "cairn.openSettings", argument: "cairn.path" };
const RESTART = { label: "Restart", command: "cairn.restart" };
const LOG = { label: "Show Log", command: "cairn.showLog" };

/** Show each new problem once. */
export function showTroubles(server: Server): Disposable {
  let shown: Health["state"] | undefined;
  const show = (health: Health): void => {
    const isTrouble = health.state === "missing" || health.state === "crashed" || health.state === "failed";
    if (isTrouble && health.state !== shown) explain(health);
    if (isTrouble) shown = health.state;
    else if (health.state === "running") shown = undefined;
  };
  show(server.health);
  return server.onDidChangeHealth(show);
}

/** Why no request is possible now, with remedies. */
export function explain(health: Health): void {
  switch (health.state) {
    case "missing":
      show("Cairn: the server is not installed on this machine.", [INSTALL, HOW, PATH]);
      return;
    case "failed":
      show(`Cairn: ${health.message}`, [PATH, LOG]);
      return;
    case "crashed":
      show(`Cairn: ${health.message}`, [RESTART, LOG]);
      return;
    case "stopped":
      show("Cairn: the server is stopped.", [RESTART]);
      return;
    default:
      void window.showInformationMessage(`Cairn: ${describe(health).detail || "the server is starting."}`);
  }
}

function show(message: string, remedies: readonly Remedy[]): void {
  void window.showErrorMessage(message, ...remedies.map(({ label }) => label)).then((picked) => {
    const remedy = remedies.find(({ label }) => label === picked);
    if (remedy) void commands.executeCommand(remedy.command, remedy.argument);
  });
}
