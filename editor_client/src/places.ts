// Opens results, and restores the editor's former state after a preview.

import {
  commands,
  Range,
  Selection,
  type Tab,
  TabInputCustom,
  TabInputNotebook,
  TabInputText,
  type TextDocumentShowOptions,
  type TextEditor,
  TextEditorRevealType,
  ThemeColor,
  Uri,
  ViewColumn,
  window,
  workspace,
} from "vscode";

import { messageOf } from "./problem.ts";
import type { Range as ProtocolRange } from "./protocol.ts";

/** A place in a file. */
export interface Place {
  readonly uri: string;
  readonly range: ProtocolRange;
  /** The line to go to; the first line of `range` if absent. */
  readonly selectionRange?: ProtocolRange;
}

/** How long opened lines are highlighted. */
const MARKED_MS = 1500;

const mark = window.createTextEditorDecorationType({
  isWholeLine: true,
  backgroundColor: new ThemeColor("editor.rangeHighlightBackground"),
});

/** Open a place with the cursor at its line. Rejects if the file no longer exists. */
export async function open(place: Place, beside = false): Promise<void> {
  const viewColumn = beside ? ViewColumn.Beside : ViewColumn.Active;
  const editor = await show(place, { preview: true, viewColumn });
  setTimeout(() => {
    editor.setDecorations(mark, []);
  }, MARKED_MS);
}

/** Open a place, or show why that failed. */
export async function openOrExplain(place: Place, beside = false): Promise<void> {
  try {
    await open(place, beside);
  } catch (problem) {
    void window.showErrorMessage(`Cairn: ${messageOf(problem)}`);
  }
}

async function show(place: Place, options: TextDocumentShowOptions): Promise<TextEditor> {
  const editor = await window.showTextDocument(Uri.parse(place.uri), options);
  const { document } = editor;
  // The file may be shorter than when it was indexed.
  const number = Math.min((place.selectionRange ?? place.range).start.line, document.lineCount - 1);
  const line = document.lineAt(number);
  const cursor = line.range.start.translate(0, line.firstNonWhitespaceCharacterIndex);
  editor.selection = new Selection(cursor, cursor);
  editor.revealRange(line.range, TextEditorRevealType.InCenterIfOutsideViewport);
  editor.setDecorations(mark, [wholeLines(place.range)]);
  return editor;
}

function wholeLines({ start, end }: ProtocolRange): Range {
  const last = end.character === 0 ? end.line - 1 : end.line;
  return new Range(start.line, 0, Math.max(start.line, last), 0);
}

/** The range as the editor's type. */
export function editorRange({ start, end }: ProtocolRange): Range {
  return new Range(start.line, start.character, end.line, end.character);
}

export function protocolRange({ start, end }: Range): ProtocolRange {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}

/**
 * Previews places, and then restores the editor's former state. The focus is left to the editor, since the
 * user may have opened something else meanwhile.
 */
export class Preview {
  readonly #editor = window.activeTextEditor;
  readonly #column = window.tabGroups.activeTabGroup.viewColumn;
  readonly #tab = window.tabGroups.activeTabGroup.activeTab;
  readonly #wasPreview = this.#tab?.isPreview ?? false;
  /** The tab of the group that previews replace; it need not be the active one. */
  readonly #givesWay = window.tabGroups.activeTabGroup.tabs.find((tab) => tab.isPreview);
  readonly #selections = this.#editor?.selections ?? [];
  readonly #visible = this.#editor?.visibleRanges[0];
  readonly #open = new Set(textTabs().map(({ uri }) => uri));
  /** The queue of previews and their ends. */
  #turn: Promise<unknown> = Promise.resolve();
  #latest: Place | undefined;
  #shown: TextEditor | undefined;

  /** Preview a place, unless another preview was requested meanwhile. */
  show(place: Place): Promise<void> {
    this.#latest = place;
    return this.#inTurn(async () => {
      if (this.#latest !== place) return;
      this.#shown = await show(place, { preview: true, preserveFocus: true, viewColumn: this.#column });
    });
  }

  /** Keep the preview open. */
  keep(): Promise<void> {
    this.#latest = undefined;
    return this.#inTurn(() => {
      this.#shown?.setDecorations(mark, []);
      return Promise.resolve();
    });
  }

  /** Restore the former editor and its scroll position, if it still exists. */
  async restore(): Promise<void> {
    await this.keep();
    // A missing file must not block the next action.
    if (this.#shown) await this.#putBack().catch(() => undefined);
  }

  async #putBack(): Promise<void> {
    const editor = this.#editor;
    if (this.#givesWay?.input instanceof TabInputText) {
      const options = { viewColumn: this.#column, preview: true, preserveFocus: true };
      await window.showTextDocument(this.#givesWay.input.uri, options);
    }
    if (editor) {
      const options = { viewColumn: this.#column, preview: this.#wasPreview, preserveFocus: true };
      const shown = await window.showTextDocument(editor.document, options);
      shown.selections = this.#selections;
      if (this.#visible) shown.revealRange(this.#visible, TextEditorRevealType.AtTop);
    } else if (this.#wasPreview) {
      await reopen(this.#tab, this.#column);
    }
    const added = textTabs().filter(({ tab, uri }) => tab.isPreview && !this.#open.has(uri));
    await window.tabGroups.close(
      added.map(({ tab }) => tab),
      true,
    );
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/** A tab without a text editor that the preview replaced. */
async function reopen(tab: Tab | undefined, viewColumn: ViewColumn): Promise<void> {
  const options = { viewColumn, preserveFocus: true };
  if (tab?.input instanceof TabInputCustom) {
    await commands.executeCommand("vscode.openWith", tab.input.uri, tab.input.viewType, options);
  } else if (tab?.input instanceof TabInputNotebook) {
    await commands.executeCommand("vscode.openWith", tab.input.uri, tab.input.notebookType, options);
  }
}

function textTabs(): { readonly tab: Tab; readonly uri: string }[] {
  return window.tabGroups.all
    .flatMap((group) => group.tabs)
    .flatMap((tab) => (tab.input instanceof TabInputText ? [{ tab, uri: tab.input.uri.toString() }] : []));
}

/** The folder's name, if several are open, by the URI in results. */
export function folderName(uri: string): string | undefined {
  const folders = workspace.workspaceFolders ?? [];
  if (folders.length < 2) return undefined;
  return folders.find((folder) => folder.uri.toString() === uri)?.name ?? uri.split("/").pop();
}
