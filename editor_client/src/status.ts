// Cairn's state in the language status item, and as a list with remedies.

import {
  Disposable,
  languages,
  LanguageStatusSeverity,
  type QuickPickItem,
  QuickPickItemKind,
  window,
} from "vscode";

import type { StatusAnswer } from "./protocol.ts";
import type { Health, Server } from "./server.ts";
import { describe, type Line, lines } from "./status_text.ts";

/** The item behind `{}` in the status bar. */
export function showHealth(server: Server): Disposable {
  const item = languages.createLanguageStatusItem("cairn.status", [
    { scheme: "file" },
    { scheme: "untitled" },
  ]);
  item.name = "Cairn";
  item.command = { command: "cairn.showStatus", title: "Show Status" };
  const draw = (health: Health): void => {
    const { text, detail, busy, severity } = describe(health);
    item.text = text;
    item.detail = detail;
    item.busy = busy;
    item.severity = {
      error: LanguageStatusSeverity.Error,
      warning: LanguageStatusSeverity.Warning,
      information: LanguageStatusSeverity.Information,
    }[severity];
  };
  draw(server.health);
  const listening = server.onDidChangeHealth(draw);
  return Disposable.from(listening, item);
}

interface Action extends QuickPickItem {
  readonly command?: string;
}

/** The picked command, if any. */
export async function showStatus(server: Server): Promise<string | undefined> {
  const status = await freshStatus(server);
  const health: Health = status ? { state: "running", status } : server.health;
  const items: Action[] = [
    ...lines(health, server.found).map(asItem),
    { label: "what to do", kind: QuickPickItemKind.Separator },
    ...actions(server.health, status),
  ];
  const picked = await window.showQuickPick(items, { title: "Cairn: Status", matchOnDescription: true });
  return picked?.command;
}

async function freshStatus({ api, health }: Server): Promise<StatusAnswer | undefined> {
  const last = health.state === "running" ? health.status : undefined;
  return (await api?.status().catch(() => undefined)) ?? last;
}

function asItem({ icon, label, value, detail }: Line): Action {
  return { label: `$(${icon}) ${label}`, description: value, ...(detail ? { detail } : {}) };
}

function actions({ state }: Health, status: StatusAnswer | undefined): Action[] {
  const running: Action[] = status
    ? [
        status.paused
          ? { label: "$(play) Resume Indexing", command: "cairn.resumeIndexing" }
          : { label: "$(debug-pause) Pause Indexing", command: "cairn.pauseIndexing" },
        { label: "$(sync) Re-index Workspace", command: "cairn.reindexWorkspace" },
      ]
    : [];
  return [
    ...(state === "missing"
      ? [{ label: "$(cloud-download) Install Server", command: "cairn.installServer" }]
      : []),
    ...running,
    { label: "$(debug-restart) Restart Server", command: "cairn.restart" },
    { label: "$(output) Show Log", command: "cairn.showLog" },
    { label: "$(gear) Settings", command: "cairn.openSettings" },
  ];
}
