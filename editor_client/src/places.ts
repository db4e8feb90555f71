// Opens what was found, and puts back what was there before somebody looked around.

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

import type { Range as ProtocolRange } from "./protocol.ts";

/** A place in a file. */
export interface Place {
  readonly uri: string;
  readonly range: ProtocolRange;
  /** The line to go to; the first of `range` when absent. */
  readonly selectionRange?: ProtocolRange;
}

/** How long lines that were gone to stand out. */
const MARKED_MS = 1500;

const mark = window.createTextEditorDecorationType({
  isWholeLine: true,
  backgroundColor: new ThemeColor("editor.rangeHighlightBackground"),
});

/** Open it with the cursor at the line that counts. Rejects where there is no such file any more. */
export async function open(place: Place, beside = false): Promise<void> {
  const viewColumn = beside ? ViewColumn.Beside : ViewColumn.Active;
  const editor = await show(place, { preview: true, viewColumn });
  setTimeout(() => {
    editor.setDecorations(mark, []);
  }, MARKED_MS);
}

async function show(place: Place, options: TextDocumentShowOptions): Promise<TextEditor> {
  const editor = await window.showTextDocument(Uri.parse(place.uri), options);
  const { document } = editor;
  // It may have become shorter since it was indexed.
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

/** The range as the editor has it. */
export function editorRange({ start, end }: ProtocolRange): Range {
  return new Range(start.line, start.character, end.line, end.character);
}

export function protocolRange({ start, end }: Range): ProtocolRange {
  return {
    start: { line: start.line, character: start.character },
    end: { line: end.line, character: end.character },
  };
}

/** Shows places while somebody looks through them, and then puts back what was in the editor before. */
export class Preview {
  readonly #editor = window.activeTextEditor;
  readonly #column = window.tabGroups.activeTabGroup.viewColumn;
  readonly #tab = window.tabGroups.activeTabGroup.activeTab;
  readonly #wasPreview = this.#tab?.isPreview ?? false;
  /** The one tab of the group that gives way to what is shown here; it need not be the active one. */
  readonly #givesWay = window.tabGroups.activeTabGroup.tabs.find((tab) => tab.isPreview);
  readonly #selections = this.#editor?.selections ?? [];
  readonly #visible = this.#editor?.visibleRanges[0];
  readonly #open = new Set(textTabs().map(({ uri }) => uri));
  /** Shows and the end of them, one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #latest: Place | undefined;
  #shown: TextEditor | undefined;

  /** Show it unless another one was asked for meanwhile. */
  show(place: Place): Promise<void> {
    this.#latest = place;
    return this.#inTurn(async () => {
      if (this.#latest !== place) return;
      this.#shown = await show(place, { preview: true, preserveFocus: true, viewColumn: this.#column });
    });
  }

  /** What is shown stays. */
  keep(): Promise<void> {
    this.#latest = undefined;
    return this.#inTurn(() => {
      this.#shown?.setDecorations(mark, []);
      return Promise.resolve();
    });
  }

  /** Put back what was there, where it was scrolled to, as far as it is there still. */
  async restore(): Promise<void> {
    await this.keep();
    // A file that is gone keeps nobody from what they do next.
    if (this.#shown) await this.#putBack().catch(() => undefined);
  }

  async #putBack(): Promise<void> {
    const editor = this.#editor;
    if (this.#givesWay?.input instanceof TabInputText) {
      const options = { viewColumn: this.#column, preview: true, preserveFocus: true };
      await window.showTextDocument(this.#givesWay.input.uri, options);
    }
    if (editor) {
      const shown = await window.showTextDocument(editor.document, {
        viewColumn: this.#column,
        preview: this.#wasPreview,
      });
      shown.selections = this.#selections;
      if (this.#visible) shown.revealRange(this.#visible, TextEditorRevealType.AtTop);
    } else if (this.#wasPreview) {
      await reopen(this.#tab, this.#column);
    }
    const added = textTabs().filter(({ tab, uri }) => tab.isPreview && !this.#open.has(uri));
    await window.tabGroups.close(added.map(({ tab }) => tab));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/** A tab without a text editor that gave way to the preview. */
async function reopen(tab: Tab | undefined, viewColumn: ViewColumn): Promise<void> {
  if (tab?.input instanceof TabInputCustom) {
    await commands.executeCommand("vscode.openWith", tab.input.uri, tab.input.viewType, viewColumn);
  } else if (tab?.input instanceof TabInputNotebook) {
    await commands.executeCommand("vscode.openWith", tab.input.uri, tab.input.notebookType, viewColumn);
  }
}

function textTabs(): { readonly tab: Tab; readonly uri: string }[] {
  return window.tabGroups.all
    .flatMap((group) => group.tabs)
    .flatMap((tab) => (tab.input instanceof TabInputText ? [{ tab, uri: tab.input.uri.toString() }] : []));
}

/** The folder's name where there are several; by the URI that results carry. */
export function folderName(uri: string): string | undefined {
  const folders = workspace.workspaceFolders ?? [];
  if (folders.length < 2) return undefined;
  return folders.find((folder) => folder.uri.toString() === uri)?.name ?? uri.split("/").pop();
}
