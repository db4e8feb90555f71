// The commands: each passes the editor's current state to a feature.

import {
  commands,
  type Disposable,
  type ExtensionContext,
  Location,
  type LogOutputChannel,
  Position,
  ProgressLocation,
  Uri,
  window,
  workspace,
} from "vscode";

import { type Api, isCancelled } from "./api.ts";
import { type Discoveries, selectedText } from "./discover/discovery.ts";
import { installServer } from "./finding/managed_environment.ts";
import type { Palette } from "./palette/palette.ts";
import { inFolder } from "./palette/query.ts";
import { editorRange, folderName, protocolRange } from "./places.ts";
import { messageOf } from "./problem.ts";
import type { ReindexParams } from "./protocol.ts";
import type { Server } from "./server.ts";
import { showStatus } from "./status.ts";
import { explain } from "./trouble.ts";

const TOLD_MS = 4000;

type Command = (argument?: unknown) => unknown;

export function registerCommands(
  context: ExtensionContext,
  server: Server,
  palette: Palette,
  discoveries: Discoveries,
  log: LogOutputChannel,
): Disposable[] {
  const all: Record<string, Command> = {
    "cairn.search": () => {
      palette.open({ value: selectedText() });
    },
    "cairn.searchInFolder": (folder) => {
      const path = folder instanceof Uri ? pathInWorkspace(folder) : "";
      palette.open({ filter: path && inFolder(path) });
    },
    "cairn.discover": () => discoveries.discover(),
    "cairn.findRelated": () => findRelated(server, palette),
    "cairn.showCallers": (place) => showCallers(server, place as DefinitionPlace | undefined),
    "cairn.copyPrompt": () => discoveries.copyPrompt(),
    "cairn.openPrompt": () => discoveries.openPrompt(),
    "cairn.sendToChat": () => discoveries.sendToChat(),
    "cairn.showStatus": async () => {
      const picked = await showStatus(server);
      if (picked) await commands.executeCommand(picked);
    },
    "cairn.reindexWorkspace": () => asking(server, (api) => reindex(api, {}, "the workspace")),
    "cairn.reindexPath": (resource) => {
      if (!(resource instanceof Uri)) return;
      const folder = workspace.getWorkspaceFolder(resource)?.uri.toString() ?? "";
      const path = relativePath(resource);
      return asking(server, (api) =>
        reindex(api, path ? { path, folder } : { folder }, path || "the folder"),
      );
    },
    "cairn.pauseIndexing": () =>
      asking(server, async (api) => {
        await api.pause();
        return "Indexing is paused; saves are still found";
      }),
    "cairn.resumeIndexing": () =>
      asking(server, async (api) => {
        await api.resume();
        return "Indexing goes on";
      }),
    "cairn.forgetChoices": () =>
      asking(server, async (api) => `Forgot ${await api.resetFeedback()} choices of results`),
    "cairn.restart": () => server.restart(),
    "cairn.installServer": () => install(context, server, log),
    "cairn.openSettings": (setting) =>
      commands.executeCommand("workbench.action.openSettings", setting ?? "@ext:cairn.cairn"),
    "cairn.showLog": () => {
      log.show();
    },
  };
  return Object.entries(all).map(([name, command]) => commands.registerCommand(name, command));
}

/** Run an action and show its result, or why it failed, in the status bar. */
async function asking(server: Server, work: (api: Api) => Promise<string>): Promise<void> {
  if (!server.api) {
    explain(server.health);
    return;
  }
  try {
    window.setStatusBarMessage(`Cairn: ${await work(server.api)}`, TOLD_MS);
  } catch (problem) {
    void window.showErrorMessage(`Cairn: ${messageOf(problem)}`);
  }
}

async function reindex(api: Api, params: ReindexParams, what: string): Promise<string> {
  const { scheduled } = await api.reindex(params);
  return scheduled ? `indexing ${what} anew` : "no folder is open";
}

async function findRelated(server: Server, palette: Palette): Promise<void> {
  const editor = window.activeTextEditor;
  if (!editor) {
    void window.showInformationMessage("Cairn: open a file to find what is related to it.");
    return;
  }
  const { selection } = editor;
  await asking(server, async (api) => {
    const textDocument = { uri: editor.document.uri.toString() };
    const shown = { location: ProgressLocation.Window, title: "Cairn: looking for what is related" };
    const range = protocolRange(selection);
    const { results } = await window.withProgress(shown, () =>
      api.related({ textDocument, range, limit: palette.limit, context: 0 }),
    );
    if (results.length === 0) return "Nothing related was found";
    palette.open({ results: { title: "Cairn: Related", found: results } });
    return `${results.length} related passages`;
  });
}

/** A place in a definition, and what of it to list. */
export interface DefinitionPlace {
  readonly uri: Uri;
  /** 0-based. */
  readonly line: number;
  readonly character: number;
  readonly direction: "callers" | "tests";
}

/**
 * Show the callers or tests of the definition around a place in the editor's references view. Without a
 * place, show the callers of the name at the cursor, or of the function around it.
 */
async function showCallers(server: Server, place?: DefinitionPlace): Promise<void> {
  const editor = window.activeTextEditor;
  const uri = place?.uri ?? editor?.document.uri;
  const cursor = place ? new Position(place.line, place.character) : editor?.selection.start;
  if (!uri || !cursor) {
    void window.showInformationMessage("Cairn: open a file to see who calls the function at the cursor.");
    return;
  }
  await asking(server, async (api) => {
    const { line, character } = cursor;
    const direction = place?.direction ?? "callers";
    const around = () => api.references({ symbol: `${uri.fsPath}:${line + 1}`, direction });
    const byName = () =>
      api.references({ textDocument: { uri: uri.toString() }, position: { line, character } });
    const named = place ? undefined : await byName();
    const isNamed = named && (named.definitions.length > 0 || uri.scheme !== "file");
    const { definitions, references, notes, message } = isNamed ? named : await around();
    const name = definitions[0]?.symbol ?? "This";
    const said = notes.map(({ text }) => text).filter(Boolean);
    const found = [...references, ...notes].flatMap(({ uri, range }) =>
      uri && range ? [new Location(Uri.parse(uri), editorRange(range))] : [],
    );
    if (found.length > 0) {
      await commands.executeCommand("editor.action.showReferences", uri, cursor, found);
    }
    if (references.length === 0)
      return message || [`${name} has no resolved ${direction}`, ...said].join("; ");
    const one = direction === "tests" ? "call in a test" : "call";
    const calls =
      references.length === 1 ? `1 ${one}` : `${references.length} ${one.replace("call", "calls")}`;
    return [`${calls} of ${name}`, ...said].join("; ");
  });
}

async function install(context: ExtensionContext, server: Server, log: LogOutputChannel): Promise<void> {
  const shown = { location: ProgressLocation.Notification, title: "Cairn", cancellable: true };
  try {
    await window.withProgress(shown, (progress, token) => installServer(context, log, progress, token));
  } catch (problem) {
    if (isCancelled(problem)) return;
    log.error(String(problem));
    const picked = await window.showErrorMessage(`Cairn: ${messageOf(problem)}`, "Show Log");
    if (picked) log.show();
    return;
  }
  await server.restart();
}

/**
 * The path that limits a search to a folder; it begins with the workspace folder's name if several are open.
 */
function pathInWorkspace(resource: Uri): string {
  const folder = workspace.getWorkspaceFolder(resource);
  const name = folder && folderName(folder.uri.toString());
  return [name, relativePath(resource)].filter(Boolean).join("/");
}

/** The path relative to its workspace folder, with `/`; "" for the folder itself. */
function relativePath(resource: Uri): string {
  const folder = workspace.getWorkspaceFolder(resource);
  if (!folder || folder.uri.path === resource.path) return "";
  return resource.path.slice(folder.uri.path.length).replace(/^\//, "");
}
