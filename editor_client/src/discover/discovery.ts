// Discover: answers a question with a Markdown preview, and a prompt for the clipboard, a tab or a chat.

import {
  commands,
  Disposable,
  env,
  ProgressLocation,
  type Tab,
  TabInputCustom,
  TabInputText,
  TabInputWebview,
  type TextDocumentContentProvider,
  Uri,
  window,
  workspace,
} from "vscode";

import { isCancelled } from "../api.ts";
import { setKey } from "../context_keys.ts";
import { folderName } from "../places.ts";
import type { DiscoverAnswer } from "../protocol.ts";
import type { Server } from "../server.ts";
import { explain } from "../trouble.ts";
import { discoveryAsMarkdown } from "./markdown.ts";

const SCHEME = "cairn-discovery";
const CHAT = "workbench.action.chat.open";
/** How many answers are kept; an older preview tells the user to ask again. */
const MOST_KEPT = 20;
const LONGEST_NAME = 60;

interface Discovery {
  readonly question: string;
  readonly answer: DiscoverAnswer;
  /** The path of the prompt's document. */
  readonly promptPath: string;
}

export class Discoveries implements TextDocumentContentProvider, Disposable {
  readonly #server: Server;
  /** The answers by the path of their documents, the latest last. */
  readonly #kept = new Map<string, Discovery>();
  readonly #listening: Disposable;
  #asked = 0;

  constructor(server: Server) {
    this.#server = server;
    this.#listening = Disposable.from(
      workspace.registerTextDocumentContentProvider(SCHEME, this),
      window.tabGroups.onDidChangeTabs(() => {
        this.#tellWhatIsShown();
      }),
      window.tabGroups.onDidChangeTabGroups(() => {
        this.#tellWhatIsShown();
      }),
    );
    void commands.getCommands(true).then((all) => {
      setKey("hasChat", all.includes(CHAT));
    });
  }

  dispose(): void {
    this.#listening.dispose();
  }

  provideTextDocumentContent(uri: Uri): string {
    const kept = this.#kept.get(uri.path);
    const root = workspace.workspaceFolders?.[0]?.uri.toString() ?? "";
    if (kept) return discoveryAsMarkdown(kept.question, kept.answer, root, folderName);
    const asked = [...this.#kept.values()].find(({ promptPath }) => promptPath === uri.path);
    if (asked) return asked.answer.answerPrompt;
    return "This answer is no longer there. Ask again with *Cairn: Discover*.\n";
  }

  /** Ask the user for a question if none is given, then show the answer, only from `path` if given. */
  async discover(given?: string, path: readonly string[] = []): Promise<void> {
    const question = given ?? (await askForQuestion());
    if (!question?.trim()) return;
    const answer = await this.#answer(question, path);
    if (!answer) return;
    const [folder, name] = [`/${++this.#asked}`, fileName(question)];
    const uri = Uri.from({ scheme: SCHEME, path: `${folder}/${name}.md` });
    // The prompt's language is not Markdown, because the preview would follow it.
    this.#keep(uri.path, { question, answer, promptPath: `${folder}/Prompt, ${name}.txt` });
    await commands.executeCommand("markdown.showPreview", uri);
    this.#tellWhatIsShown();
  }

  async copyPrompt(): Promise<void> {
    const discovery = this.#current();
    if (!discovery) return;
    await env.clipboard.writeText(discovery.answer.answerPrompt);
    const { finalPromptTokens } = discovery.answer.metrics;
    window.setStatusBarMessage(`Cairn: copied a prompt of ${finalPromptTokens} tokens`, 4000);
  }

  async openPrompt(): Promise<void> {
    const discovery = this.#current();
    if (discovery) await window.showTextDocument(Uri.from({ scheme: SCHEME, path: discovery.promptPath }));
  }

  async sendToChat(): Promise<void> {
    const discovery = this.#current();
    if (discovery) {
      await commands.executeCommand(CHAT, { query: discovery.answer.answerPrompt, isPartialQuery: true });
    }
  }

  async #answer(question: string, path: readonly string[]): Promise<DiscoverAnswer | undefined> {
    const { api } = this.#server;
    if (!api) {
      explain(this.#server.health);
      return undefined;
    }
    const shown = { location: ProgressLocation.Notification, title: "Cairn", cancellable: true };
    try {
      return await window.withProgress(shown, (progress, token) => {
        let done = 0;
        return api.discover({ query: question, filter: { path } }, token, ({ message, percentage }) => {
          progress.report({ message, increment: percentage - done });
          done = percentage;
        });
      });
    } catch (problem) {
      if (!isCancelled(problem)) void window.showErrorMessage(`Cairn: ${(problem as Error).message}`);
      return undefined;
    }
  }

  #keep(path: string, discovery: Discovery): void {
    this.#kept.set(path, discovery);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    setKey("hasDiscovery", true);
  }

  /** The visible answer, or else the latest. */
  #current(): Discovery | undefined {
    const discovery = this.#shown() ?? [...this.#kept.values()].at(-1);
    if (!discovery) void window.showInformationMessage("Cairn: ask a question first, with Cairn: Discover.");
    return discovery;
  }

  #shown(): Discovery | undefined {
    const tab = window.tabGroups.activeTabGroup.activeTab;
    const [, discovery] =
      (tab && [...this.#kept].reverse().find(([path, kept]) => shows(tab, path, kept))) ?? [];
    return discovery;
  }

  #tellWhatIsShown(): void {
    setKey("discoveryShown", this.#shown() !== undefined);
  }
}

/**
 * Whether the tab is the document, its prompt, or its preview, which has no URI and is identified by its
 * name.
 */
function shows({ input, label }: Tab, path: string, { promptPath }: Discovery): boolean {
  if (input instanceof TabInputText || input instanceof TabInputCustom) {
    return input.uri.scheme === SCHEME && [path, promptPath].includes(input.uri.path);
  }
  return (
    input instanceof TabInputWebview &&
    input.viewType.endsWith("markdown.preview") &&
    label.endsWith(path.slice(path.lastIndexOf("/") + 1))
  );
}

async function askForQuestion(): Promise<string | undefined> {
  const value = selectedText();
  return window.showInputBox({
    title: "Cairn: Discover",
    prompt: "Excerpts with citations, and a prompt for a language model",
    placeHolder: "What do you want to know about this workspace?",
    ...(value ? { value } : {}),
  });
}

/** The selection in the editor, if it is within one line. */
export function selectedText(): string {
  const editor = window.activeTextEditor;
  if (!editor?.selection.isSingleLine) return "";
  return editor.document.getText(editor.selection).trim();
}

function fileName(question: string): string {
  const safe = question.replace(/[^\p{L}\p{N}\p{M} ._,'()-]+/gu, " ").replace(/\s+/g, " ");
  return safe.trim().slice(0, LONGEST_NAME).trim() || "question";
}
