// The context panel: a view with code, documents and README passages related to the cursor. The server finds
// them, the follower decides when to ask, the view model decides what to draw, and the webview draws it.

import { randomBytes } from "node:crypto";
import {
  type CancellationToken,
  CancellationTokenSource,
  type Diagnostic,
  commands,
  Disposable,
  env,
  languages,
  type LogOutputChannel,
  type TextDocument,
  type TextEditor,
  Uri,
  type Webview,
  type WebviewView,
  type WebviewViewProvider,
  window,
  workspace,
} from "vscode";
import { ResponseError } from "vscode-languageclient";

import { folderName, open, type Place as FilePlace, protocolRange } from "../places.ts";
import { messageOf } from "../problem.ts";
import type * as protocol from "../protocol.ts";
import type { Server } from "../server.ts";
import { Follower, type Outcome, type Place, spansLines } from "./follower.ts";
import { type Action, type Content, fromWebview, type FromWebview, type ToWebview } from "./messages.ts";
import { page } from "./page.ts";
import { type Absence, contentOfAbsence, contentOfAnswer, quoted } from "./view_model.ts";

const VIEW = "cairn.panel";
const DIAGNOSTICS = 20;
/** Faster answers need no progress indicator. */
const BUSY_AFTER_MS = 400;
const TOLD_MS = 4000;
/** The error codes of JSON-RPC. */
const INVALID_PARAMS = -32602;
const COMMANDS: Readonly<Record<Exclude<Action, "refresh">, string>> = {
  install: "cairn.installServer",
  restart: "cairn.restart",
  log: "cairn.showLog",
};

type Answer = protocol.ContextAnswer;

export class ContextPanel implements WebviewViewProvider, Disposable {
  readonly #extension: Uri;
  readonly #server: Server;
  readonly #log: LogOutputChannel;
  readonly #follower = new Follower<Answer>({
    ask: (place, signal) => this.#ask(place, signal),
    show: () => {
      this.#draw();
    },
  });
  #view: WebviewView | undefined;
  /** The key of the content that was last sent to the webview. */
  #drawn = "";

  constructor(extension: Uri, server: Server, log: LogOutputChannel) {
    this.#extension = extension;
    this.#server = server;
    this.#log = log;
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
    ];
  }

  dispose(): void {
    this.#follower.dispose();
  }

  resolveWebviewView(view: WebviewView): void {
    this.#view = view;
    this.#drawn = "";
    const dist = Uri.joinPath(this.#extension, "dist");
    view.webview.options = { enableScripts: true, localResourceRoots: [dist] };
    view.webview.onDidReceiveMessage((given: unknown) => {
      const message = fromWebview(given);
      if (message) this.#received(message);
      else this.#log.warn("the context panel sent something else than its messages");
    });
    view.onDidChangeVisibility(() => {
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

  async #ask(place: Place, signal: AbortSignal): Promise<Answer> {
    const cancelling = new CancellationTokenSource();
    signal.addEventListener("abort", () => {
      cancelling.cancel();
    });
    const slow = setTimeout(() => {
      void window.withProgress({ location: { viewId: VIEW } }, () => settled);
    }, BUSY_AFTER_MS);
    const asking = this.#context(place, cancelling.token);
    const settled = Promise.race([asking.catch(() => undefined), aborted(signal)]);
    try {
      return await asking;
    } finally {
      clearTimeout(slow);
      cancelling.dispose();
    }
  }

  async #context(place: Place, token?: CancellationToken): Promise<Answer> {
    const api = this.#server.api;
    if (!api) throw new Error("Cairn’s server is not running.");
    const uri = Uri.parse(place.uri);
    const document = workspace.textDocuments.find((each) => each.uri.toString() === place.uri);
    const params: protocol.ContextParams = {
      textDocument: { uri: place.uri },
      ...(spansLines(place.selection) ? { range: place.selection } : { position: place.selection.end }),
      limit: workspace.getConfiguration("cairn", uri).get<number>("panel.limit", 10),
      diagnostics: nearest(languages.getDiagnostics(uri), place.selection.end.line),
    };
    if (!document) return api.context(params, token);
    const text = () => ({ ...params, text: document.getText() });
    if (!workspace.getWorkspaceFolder(uri)) return api.context(text(), token);
    try {
      return await api.context(params, token);
    } catch (problem) {
      // The file is not indexed: a rule excludes it, or it was not read yet. Its text is enough.
      if (!(problem instanceof ResponseError) || problem.code !== INVALID_PARAMS) throw problem;
      return api.context(text(), token);
    }
  }

  // --- drawing

  #draw(): void {
    if (!this.#view?.visible) return;
    const content = this.#content();
    if (content.key === this.#drawn) return;
    this.#drawn = content.key;
    this.#post({ type: "draw", content });
  }

  #content(): Content {
    const { health } = this.#server;
    const { outcome, pinned } = this.#follower;
    if (outcome && "answer" in outcome && (health.state === "running" || pinned)) {
      return contentOfAnswer(outcome.answer, {
        pinned,
        status: health.state === "running" ? health.status : undefined,
        folderName: (uri) => folderName(uri) ?? "",
      });
    }
    return contentOfAbsence(this.#absence(outcome), pinned);
  }

  #absence(outcome: Outcome<Answer> | undefined): Absence {
    const { health } = this.#server;
    if (health.state === "crashed" || health.state === "failed") {
      return { why: health.state, message: health.message };
    }
    if (health.state !== "running") return { why: health.state };
    if (outcome && "problem" in outcome) return { why: "problem", message: messageOf(outcome.problem) };
    return { why: this.#follower.target ? "asking" : "noEditor" };
  }

  #post(message: ToWebview): void {
    void this.#view?.webview.postMessage(message);
  }

  #describe(): void {
    const { pinned } = this.#follower;
    if (this.#view) this.#view.description = pinned ? "Pinned" : "";
    void commands.executeCommand("setContext", "cairn.panelPinned", pinned);
  }

  // --- actions of the user

  #received(message: FromWebview): void {
    switch (message.type) {
      case "ready":
        this.#drawn = "";
        this.#draw();
        break;
      case "pin":
        void this.#pin();
        break;
      case "unpin":
        this.#unpin();
        break;
      case "refresh":
        this.#follower.refresh();
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
        if (place) void this.#open({ uri: place.uri, range: place.selection }, false);
        break;
      }
      case "open":
      case "copy": {
        const result = this.#result(message.key, message.index);
        if (!result) break;
        if (message.type === "copy") void this.#copy(quoted(result), "passage copied");
        else void this.#open(result, message.beside);
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
    this.#follower.unpin();
    this.#describe();
    this.#draw();
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
      const answer = kept ?? (place && (await this.#context(place)));
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

  async #open(place: FilePlace, beside: boolean): Promise<void> {
    try {
      await open(place, beside);
    } catch (problem) {
      void window.showErrorMessage(`Cairn: ${messageOf(problem)}`);
    }
  }
}

function isText(document: TextDocument): boolean {
  return document.uri.scheme === "file" || document.uri.scheme === "untitled";
}

function placeOf({ document, selection }: TextEditor): Place {
  return {
    uri: document.uri.toString(),
    version: document.version,
    selection: protocolRange(selection),
  };
}

/** The diagnostics of a document, the nearest to the line first. */
function nearest(problems: readonly Diagnostic[], line: number): protocol.Diagnostic[] {
  const distance = ({ range }: Diagnostic) => Math.max(range.start.line - line, line - range.end.line, 0);
  return [...problems]
    .sort((one, other) => distance(one) - distance(other))
    .slice(0, DIAGNOSTICS)
    .map(({ range, message, severity, source, code }) => {
      const value = typeof code === "object" ? code.value : code;
      return {
        range: protocolRange(range),
        message,
        severity: severity + 1, // LSP counts from 1
        ...(source === undefined ? {} : { source }),
        ...(value === undefined ? {} : { code: value }),
      };
    });
}

function pageFor(webview: Webview, dist: Uri): string {
  return page({
    cspSource: webview.cspSource,
    script: webview.asWebviewUri(Uri.joinPath(dist, "panel.js")).toString(),
    style: webview.asWebviewUri(Uri.joinPath(dist, "panel.css")).toString(),
    nonce: randomBytes(16).toString("base64url"),
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => {
      resolve();
    });
  });
}
