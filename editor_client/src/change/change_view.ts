// The view *Change*: what the uncommitted change, or that since another commit, touches. The server finds it,
// the follower decides when to ask, `rows.ts` decides what to draw, and the editor's tree draws it.

import {
  commands,
  Disposable,
  env,
  EventEmitter,
  type Memento,
  ThemeColor,
  ThemeIcon,
  type TextDocument,
  type TreeDataProvider,
  TreeItem,
  TreeItemCollapsibleState,
  type TreeView,
  Uri,
  window,
  workspace,
  type WorkspaceFolder,
} from "vscode";

import { absenceOf, COMMANDS } from "../absence.ts";
import { setKey } from "../context_keys.ts";
import { FoldMemory } from "../folds.ts";
import { Follower } from "../panel/follower.ts";
import { folderName, openOrExplain } from "../places.ts";
import { messageOf } from "../problem.ts";
import type * as protocol from "../protocol.ts";
import type { Server } from "../server.ts";
import { tokenOf, withProgressIn } from "../view_requests.ts";
import { askForBase } from "./base.ts";
import {
  type ChangeContent,
  type ChangeRow,
  contentOfAbsence,
  contentOfChange,
  type Section,
  spoken,
} from "./rows.ts";
import { SourceControl } from "./source_control.ts";
import { runTests } from "./test_tasks.ts";

const VIEW = "cairn.change";
const TOLD_MS = 4000;
/** More than anyone reads; the lists of most changes are shorter. */
const LIMIT = 50;
/** Where the compared commits are kept, by the folder's URI. */
const BASES = "cairn.change.bases";
const START = { line: 0, character: 0 };
const WHOLE = { start: START, end: START };

export class ChangeView implements TreeDataProvider<ChangeRow>, Disposable {
  readonly #server: Server;
  readonly #folds: FoldMemory<Section>;
  readonly #memory: Memento;
  readonly #control = new SourceControl();
  readonly #redraw = new EventEmitter<void>();
  readonly #follower = new Follower<protocol.ChangeAnswer>({
    ask: (_, signal) => withProgressIn(VIEW, this.#request(signal), signal),
    show: () => {
      this.#draw();
    },
  });
  readonly #view: TreeView<ChangeRow>;
  #content: ChangeContent = { children: [], message: "", stale: 0, canRunTests: false };
  /** The content and the description, as last drawn. */
  #drawn = "";
  /** The folder of the last active editor that is in one. */
  #folder: WorkspaceFolder | undefined;
  /** Counts what may have changed the answer. */
  #version = 0;

  readonly onDidChangeTreeData = this.#redraw.event;

  /** `shared` keeps which sections are folded, and `memory` what this workspace is compared with. */
  constructor(server: Server, shared: Memento, memory: Memento) {
    this.#server = server;
    this.#folds = new FoldMemory(shared, "cairn.change.folds");
    this.#memory = memory;
    this.#view = window.createTreeView(VIEW, { treeDataProvider: this, showCollapseAll: true });
  }

  register(): Disposable[] {
    const follow = () => {
      this.#follow();
    };
    const touched = (document: TextDocument) => {
      if (document.uri.scheme === "file") this.#touched();
    };
    return [
      Disposable.from(this, this.#view, this.#control, this.#redraw),
      commands.registerCommand("cairn.change.refresh", () => {
        this.#refresh();
      }),
      commands.registerCommand("cairn.change.compare", () => this.#compare()),
      commands.registerCommand("cairn.change.copyPrompt", () => this.#copyPrompt()),
      commands.registerCommand("cairn.change.runTests", () => this.#runTests()),
      commands.registerCommand("cairn.change.open", (row: ChangeRow) => this.#open(row, false)),
      commands.registerCommand("cairn.change.openToSide", (row: ChangeRow) => this.#open(row, true)),
      this.#view.onDidChangeVisibility(({ visible }) => {
        this.#setVisible(visible);
      }),
      this.#view.onDidCollapseElement(({ element }) => {
        if (element.section) this.#folds.set(element.section, true);
      }),
      this.#view.onDidExpandElement(({ element }) => {
        if (element.section) this.#folds.set(element.section, false);
      }),
      this.#control.onDidChange(() => {
        if (!this.#view.visible) this.#forgetBadge();
        this.#touched();
      }),
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
        if (contentChanges.length > 0) touched(document);
      }),
      workspace.onDidSaveTextDocument(touched),
      workspace.onDidChangeWorkspaceFolders(follow),
      window.onDidChangeActiveTextEditor(follow),
      this.#server.onDidChangeHealth(() => {
        this.#healthChanged();
      }),
    ];
  }

  dispose(): void {
    this.#follower.dispose();
  }

  // --- the tree

  getChildren(row?: ChangeRow): ChangeRow[] {
    return [...(row ?? this.#content).children];
  }

  getTreeItem(row: ChangeRow): TreeItem {
    const item = new TreeItem(row.label, this.#foldingOf(row));
    item.id = row.id;
    item.description = row.description;
    item.tooltip = row.tooltip;
    item.accessibilityInformation = { label: spoken(row) };
    if (row.icon) item.iconPath = new ThemeIcon(row.icon, row.color ? new ThemeColor(row.color) : undefined);
    if (row.section) item.contextValue = row.section;
    if (row.place) {
      item.contextValue = "place";
      item.command = { command: "cairn.change.open", title: "Open", arguments: [row] };
    }
    if (row.action) {
      const command = row.action === "refresh" ? "cairn.change.refresh" : COMMANDS[row.action];
      item.command = { command, title: row.label };
    }
    return item;
  }

  #foldingOf({ section, children }: ChangeRow): TreeItemCollapsibleState {
    if (children.length === 0) return TreeItemCollapsibleState.None;
    const folded = section ? this.#folds.all[section] : true;
    return folded ? TreeItemCollapsibleState.Collapsed : TreeItemCollapsibleState.Expanded;
  }

  #draw(): void {
    const content = this.#contentNow();
    const description = [
      this.#folder && folderName(this.#folder.uri.toString()),
      this.#base && `since ${this.#base}`,
    ]
      .filter(Boolean)
      .join(" • ");
    const drawn = JSON.stringify([content, description]);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    this.#content = content;
    this.#view.message = content.message;
    this.#view.description = description;
    this.#view.badge =
      content.stale > 0 ? { value: content.stale, tooltip: staleTooltip(content.stale) } : undefined;
    setKey("changeHasTests", content.canRunTests);
    this.#redraw.fire();
  }

  /** A hidden view does not count again, so another change must not keep its number. */
  #forgetBadge(): void {
    this.#view.badge = undefined;
    this.#drawn = "";
  }

  #contentNow(): ChangeContent {
    const { health } = this.#server;
    const { outcome, target } = this.#follower;
    if (outcome && "answer" in outcome && health.state === "running") {
      return contentOfChange(outcome.answer, (uri) => folderName(uri) ?? "");
    }
    return contentOfAbsence(absenceOf(health, outcome, target !== undefined));
  }

  // --- requests

  #setVisible(visible: boolean): void {
    if (visible) void this.#control.connect();
    this.#follow();
    this.#healthChanged();
    this.#follower.setVisible(visible);
  }

  #healthChanged(): void {
    const { api, health } = this.#server;
    this.#follower.setServing(api !== undefined);
    if (health.state === "running" && health.status) this.#follower.indexChanged(health.status.generation);
    if (this.#view.visible) this.#draw();
  }

  #touched(): void {
    this.#version++;
    this.#follow();
  }

  #follow(): void {
    const document = window.activeTextEditor?.document;
    const folders = workspace.workspaceFolders ?? [];
    const last = folders.find(({ uri }) => uri.toString() === this.#folder?.uri.toString());
    this.#folder = (document && workspace.getWorkspaceFolder(document.uri)) ?? last ?? folders[0];
    this.#follower.follow(
      this.#folder && { uri: this.#folder.uri.toString(), version: this.#version, selection: WHOLE },
    );
  }

  #refresh(): void {
    this.#touched();
    this.#follower.refresh();
  }

  async #request(signal?: AbortSignal): Promise<protocol.ChangeAnswer> {
    const { api } = this.#server;
    if (!api || !this.#folder) throw new Error(this.#server.whyNot());
    const base = this.#base;
    const params = { folder: this.#folder.uri.toString(), limit: LIMIT, ...(base ? { base } : {}) };
    return api.change(params, tokenOf(signal));
  }

  /** The answer for the present state: the one that is shown, or a new one. */
  async #answer(): Promise<protocol.ChangeAnswer | undefined> {
    const { outcome, settled } = this.#follower;
    if (settled && outcome && "answer" in outcome) return outcome.answer;
    this.#follow();
    try {
      return await this.#request();
    } catch (problem) {
      void window.showErrorMessage(`Cairn: ${messageOf(problem)}`);
      return undefined;
    }
  }

  // --- actions of the user

  /** What the folder is compared with; "" for the last commit. */
  get #base(): string {
    return this.#bases[this.#folder?.uri.toString() ?? ""] ?? "";
  }

  get #bases(): Readonly<Record<string, string>> {
    return this.#memory.get(BASES, {});
  }

  async #compare(): Promise<void> {
    this.#follow();
    const folder = this.#folder;
    if (!folder) return;
    await this.#control.connect();
    const base = await askForBase(this.#control, folder.uri);
    if (base === undefined) return;
    await this.#memory.update(BASES, { ...this.#bases, [folder.uri.toString()]: base });
    await commands.executeCommand(`${VIEW}.focus`);
    this.#refresh();
  }

  async #copyPrompt(): Promise<void> {
    const answer = await this.#answer();
    if (!answer) return;
    await env.clipboard.writeText(answer.prompt);
    const message = `$(check) Cairn: review prompt copied, ${answer.promptTokens} tokens`;
    window.setStatusBarMessage(message, TOLD_MS);
  }

  async #runTests(): Promise<void> {
    const answer = await this.#answer();
    if (!answer || !this.#folder) return;
    if (answer.commands.length > 0) await runTests(answer.commands, this.#folder);
    else void window.showInformationMessage("Cairn: no command is known that runs tests of this change.");
  }

  async #open({ place }: ChangeRow, beside: boolean): Promise<void> {
    if (!place) return;
    const uri = this.#control.fileIn(Uri.parse(place.uri), place.commit).toString();
    await openOrExplain({ uri, range: place.range }, beside);
  }
}

function staleTooltip(count: number): string {
  return count === 1 ? "1 place still uses an old definition" : `${count} places still use old definitions`;
}
