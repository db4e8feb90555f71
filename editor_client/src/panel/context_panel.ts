// The context panel: a view with the passages related to the cursor, in sections. The server finds them, the
// follower decides when to ask, the view model decides what to draw, and the webview draws it.

import { randomBytes } from "node:crypto";
import {
  commands,
  Disposable,
  env,
  type LogOutputChannel,
  type Memento,
  Uri,
  type Webview,
  type WebviewView,
  type WebviewViewProvider,
  window,
  workspace,
} from "vscode";

import { absenceOf, COMMANDS } from "../absence.ts";
import { setKey } from "../context_keys.ts";
import { FoldMemory } from "../folds.ts";
import { folderName, openOrExplain } from "../places.ts";
import { messageOf } from "../problem.ts";
import type * as protocol from "../protocol.ts";
import type { Server } from "../server.ts";
import { withProgressIn } from "../view_requests.ts";
import { type Answer, isText, placeAt, placeOf, requestContext } from "./context_request.ts";
import { Follower, type Place } from "./follower.ts";
import {
  type Content,
  type Foldable,
  fromWebview,
  type FromWebview,
  type Listed,
  type ToWebview,
} from "./messages.ts";
import { page } from "./page.ts";
import { contentOfAbsence, contentOfAnswer, quoted, revealOf, type Surroundings } from "./view_model.ts";

const VIEW = "cairn.panel";
const TOLD_MS = 4000;
const FOLDS = "cairn.panel.folds";

export class ContextPanel implements WebviewViewProvider, Disposable {
  readonly #extension: Uri;
  readonly #server: Server;
  readonly #log: LogOutputChannel;
  readonly #folds: FoldMemory<Foldable>;
  readonly #follower = new Follower<Answer>({
    ask: (place, signal) => this.#ask(place, signal),
    show: () => {
      this.#draw();
    },
  });
  #view: WebviewView | undefined;
  /** The key of the content that was last sent to the webview. */
  #drawn = "";
  /** Whether the webview receives messages. */
  #ready = false;
  /** The section to show once the answer for the place is drawn. */
  #revealing: protocol.ContextSection | undefined;

  /** `memory` keeps which sections are folded. */
  constructor(extension: Uri, server: Server, log: LogOutputChannel, memory: Memento) {
    this.#extension = extension;
    this.#server = server;
    this.#log = log;
    this.#folds = new FoldMemory(memory, FOLDS);
  }

  register(): Disposable[] {
    const follow = () => {
      this.#follow();
    };
    return [
      Disposable.from(this),
      window.registerWebviewViewProvider(VIEW, this),
      commands.registerCommand("cairn.panel.pin", () => this.#pin()),
      commands.registerCommand("cairn.panel.unpin", () => {
        this.#unpin();
      }),
      commands.registerCommand("cairn.panel.back", () => {
        this.#move("back");
      }),
      commands.registerCommand("cairn.panel.forward", () => {
        this.#move("forward");
      }),
      commands.registerCommand("cairn.panel.copyPrompt", () => this.#copyPrompt()),
      window.onDidChangeActiveTextEditor(follow),
      window.onDidChangeTextEditorSelection(({ textEditor }) => {
        if (textEditor === window.activeTextEditor) this.#follow();
      }),
      workspace.onDidChangeTextDocument(({ document }) => {
        if (document === window.activeTextEditor?.document) this.#follow();
      }),
      workspace.onDidSaveTextDocument(follow),
      workspace.onDidChangeWorkspaceFolders(() => {
        this.#follower.refresh();
      }),
      workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("cairn.panel.limit")) this.#follower.refresh();
      }),
      this.#server.onDidChangeHealth(() => {
        this.#healthChanged();
      }),
      this.#server.lenses.onShow(
        ({ uri, position, section }) => void this.showSection(uri, position, section),
      ),
    ];
  }

  dispose(): void {
    this.#follower.dispose();
  }

  /** Pin the panel to a place, and move the focus to a section of what belongs there. */
  async showSection(
    uri: string,
    position: protocol.Position,
    section: protocol.ContextSection,
  ): Promise<void> {
    // The webview shows the section once it has drawn the answer.
    this.#revealing = section;
    this.#follower.pinTo(placeAt(Uri.parse(uri), position));
    this.#describe();
    await commands.executeCommand(`${VIEW}.focus`);
    this.#draw();
  }

  resolveWebviewView(view: WebviewView): void {
    this.#view = view;
    this.#drawn = "";
    this.#ready = false;
    const dist = Uri.joinPath(this.#extension, "dist");
    view.webview.options = { enableScripts: true, localResourceRoots: [dist] };
    view.webview.onDidReceiveMessage((given: unknown) => {
      const message = fromWebview(given);
      if (message) this.#received(message);
      else this.#log.warn("the context panel sent something else than its messages");
    });
    view.onDidChangeVisibility(() => {
      // The editor ends the page of a hidden view.
      if (!view.visible) this.#ready = false;
      if (!view.visible) setKey("panelFocused", false);
      this.#follow();
      this.#follower.setVisible(view.visible);
    });
    view.onDidDispose(() => {
      if (this.#view !== view) return;
      this.#view = undefined;
      this.#follower.setVisible(false);
    });
    this.#describe();
    this.#healthChanged();
    this.#follow();
    this.#follower.setVisible(view.visible);
    view.webview.html = pageFor(view.webview, dist);
  }

  // --- requests

  #follow(): void {
    const editor = window.activeTextEditor;
    // Output and similar documents have no place in the workspace; the panel keeps the last place.
    if (editor && !isText(editor.document)) return;
    this.#follower.follow(editor && placeOf(editor));
    if (!this.#follower.outcome) this.#draw();
  }

  #healthChanged(): void {
    this.#follower.setServing(this.#server.api !== undefined);
    const { health } = this.#server;
    if (health.state === "running" && health.status) this.#follower.indexChanged(health.status.generation);
    this.#draw();
  }

  #ask(place: Place, signal: AbortSignal): Promise<Answer> {
    return withProgressIn(VIEW, requestContext(this.#server.api, place, signal), signal);
  }

  // --- drawing

  #draw(): void {
    if (!this.#view?.visible) return;
    const content = this.#content();
    if (content.key !== this.#drawn) {
      this.#drawn = content.key;
      this.#post({ type: "draw", content, folds: this.#folds.all });
    }
    this.#reveal();
  }

  #reveal(): void {
    const section = this.#revealing;
    if (!section || !this.#ready || !this.#follower.settled) return;
    this.#revealing = undefined;
    const { outcome } = this.#follower;
    if (!outcome || !("answer" in outcome)) return;
    this.#post(revealOf(section, outcome.answer, this.#around(outcome.answer)));
  }

  #content(): Content {
    const { health } = this.#server;
    const { outcome, pinned } = this.#follower;
    if (outcome && "answer" in outcome && (health.state === "running" || pinned)) {
      return contentOfAnswer(outcome.answer, this.#around(outcome.answer));
    }
    const absence = absenceOf(health, outcome, this.#follower.target !== undefined);
    return contentOfAbsence(absence, this.#follower.history);
  }

  #around({ indexed }: Answer): Surroundings {
    const { health } = this.#server;
    return {
      pinned: this.#follower.history,
      indexed,
      status: health.state === "running" ? health.status : undefined,
      folderName: (uri) => folderName(uri) ?? "",
    };
  }

  #post(message: ToWebview): void {
    void this.#view?.webview.postMessage(message);
  }

  #describe(): void {
    const { pinned, history } = this.#follower;
    if (this.#view) this.#view.description = pinned ? "Pinned" : "";
    setKey("panelPinned", pinned);
    setKey("panelCanGoBack", history?.canGoBack);
    setKey("panelCanGoForward", history?.canGoForward);
  }

  // --- actions of the user

  #received(message: FromWebview): void {
    switch (message.type) {
      case "ready":
        this.#ready = true;
        this.#drawn = "";
        this.#draw();
        break;
      // The editor's own key, focusedView, is not set while the focus is in a webview.
      case "focused":
      case "blurred":
        setKey("panelFocused", message.type === "focused");
        break;
      case "pin":
        void this.#pin();
        break;
      case "unpin":
        this.#unpin();
        break;
      case "back":
      case "forward":
        this.#move(message.type);
        break;
      case "refresh":
        this.#follower.refresh();
        break;
      case "fold":
        this.#folds.set(message.section, message.folded);
        break;
      case "all":
        void this.#showAll(message.section);
        break;
      case "copyPrompt":
        void this.#copyPrompt();
        break;
      case "run":
        if (message.action === "refresh") this.#follower.refresh();
        else void commands.executeCommand(COMMANDS[message.action]);
        break;
      case "openPlace": {
        const place = this.#follower.target;
        if (place) void openOrExplain({ uri: place.uri, range: place.selection });
        break;
      }
      case "open":
      case "copy": {
        const result = this.#result(message.key, message.index);
        if (!result) break;
        if (message.type === "copy") void this.#copy(quoted(result), "passage copied");
        else void openOrExplain(result, message.beside);
      }
    }
  }

  /** A passage of the drawn content; undefined if other content was drawn meanwhile. */
  #result(key: string, index: number): protocol.SearchResult | undefined {
    const { outcome } = this.#follower;
    if (key !== this.#drawn || !outcome || !("answer" in outcome)) return undefined;
    return outcome.answer.passages[index]?.result;
  }

  async #pin(): Promise<void> {
    if (!this.#view?.visible) await commands.executeCommand(`${VIEW}.focus`);
    if (!this.#follower.pin()) this.#tell("open a file to pin the panel to a place in it");
    this.#describe();
    this.#draw();
  }

  #unpin(): void {
    this.#revealing = undefined;
    this.#follower.unpin();
    this.#describe();
    this.#draw();
  }

  #move(direction: "back" | "forward"): void {
    if (!this.#follower.move(direction)) return;
    this.#revealing = undefined;
    this.#describe();
    this.#draw();
  }

  async #showAll(direction: Listed): Promise<void> {
    const place = this.#follower.outcome?.place;
    if (!place) return;
    const { line, character } = place.selection.start;
    await commands.executeCommand("cairn.showCallers", {
      uri: Uri.parse(place.uri),
      line,
      character,
      direction,
    });
  }

  /** The shown context if the panel is pinned, otherwise the context of the current selection. */
  async #copyPrompt(): Promise<void> {
    const { outcome, pinned } = this.#follower;
    const editor = window.activeTextEditor;
    const place = editor && isText(editor.document) ? placeOf(editor) : this.#follower.target;
    const kept = pinned && outcome && "answer" in outcome ? outcome.answer : undefined;
    if (!kept && !place) {
      this.#tell("open a file to copy the context of a place in it");
      return;
    }
    try {
      const answer = kept ?? (place && (await requestContext(this.#server.api, place)));
      if (answer) await this.#copy(answer.context, `context copied, ${answer.tokens} tokens`);
    } catch (problem) {
      void window.showErrorMessage(`Cairn: ${messageOf(problem)}`);
    }
  }

  async #copy(text: string, done: string): Promise<void> {
    await env.clipboard.writeText(text);
    this.#tell(done);
  }

  #tell(text: string): void {
    window.setStatusBarMessage(`$(check) Cairn: ${text}`, TOLD_MS);
    this.#post({ type: "announce", text });
  }
}

function pageFor(webview: Webview, dist: Uri): string {
  return page({
    cspSource: webview.cspSource,
    script: webview.asWebviewUri(Uri.joinPath(dist, "panel.js")).toString(),
    style: webview.asWebviewUri(Uri.joinPath(dist, "panel.css")).toString(),
    nonce: randomBytes(16).toString("base64url"),
  });
}
