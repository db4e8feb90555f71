// The search palette: searches while the user types, previews the selected row, and opens one.

import {
  CancellationTokenSource,
  type Memento,
  type QuickPick,
  type QuickPickItem,
  QuickPickItemKind,
  ThemeIcon,
  window,
  workspace,
} from "vscode";

import { isCancelled } from "../api.ts";
import { folderName, open, Preview } from "../places.ts";
import { messageOf } from "../problem.ts";
import type { SearchAnswer, SearchResult } from "../protocol.ts";
import type { Server } from "../server.ts";
import { parseQuery } from "./query.ts";
import { plain, resultRow, type Row, rowsOf, titleOf } from "./rows.ts";

/** Keystrokes within this time make one request; the first after a pause makes one at once. */
const TYPING_MS = 30;
/** A row is previewed only if it stays selected for this long. */
const MOVING_MS = 60;
/** Progress is shown only after this time, because drawing it would delay a fast answer. */
const SLOW_MS = 200;
const RECENT = "cairn.recentSearches";
const MOST_RECENT = 10;

const BESIDE = { iconPath: new ThemeIcon("split-horizontal"), tooltip: "Open to the side" };

type Item = QuickPickItem &
  ({ readonly row: Row } | { readonly recent: string } | { readonly separator: true });

/** The initial state of the palette. */
export interface Opened {
  /** The initial text, which typing replaces. */
  readonly value?: string;
  /** The initial text, which stays before what the user types. */
  readonly filter?: string;
  /** These results instead of a search; the title describes them. */
  readonly results?: { readonly title: string; readonly found: readonly SearchResult[] };
}

export class Palette {
  readonly #server: Server;
  readonly #memory: Memento;
  readonly #discover: (query: string) => void;

  constructor(server: Server, memory: Memento, discover: (query: string) => void) {
    this.#server = server;
    this.#memory = memory;
    this.#discover = discover;
  }

  /** The number of rows to request. */
  get limit(): number {
    return workspace.getConfiguration("cairn.palette").get("limit", 12);
  }

  open({ value = "", filter = "", results }: Opened = {}): void {
    const palette = new OpenPalette(this.#server, this.#memory, this.#discover, {
      limit: this.limit,
      preview: workspace.getConfiguration("cairn.palette").get("preview", true),
    });
    if (results) palette.showFixed(results.title, results.found);
    else palette.showSearch(value, filter);
  }
}

class OpenPalette {
  readonly #server: Server;
  readonly #memory: Memento;
  readonly #discover: (query: string) => void;
  readonly #settings: { readonly limit: number; readonly preview: boolean };
  readonly #pick: QuickPick<Item>;
  readonly #preview = new Preview();
  #asking: CancellationTokenSource | undefined;
  #typing: NodeJS.Timeout | undefined;
  /** The latest query with its filter. A space at its end makes no difference. */
  #asked: string | undefined;
  #askedAt = 0;
  #moving: NodeJS.Timeout | undefined;
  /** The active row, if it is only active because it is the first. */
  #untouched: Item | undefined;
  #query = "";
  /** Enter was pressed before the rows arrived: open the first one when they do. */
  #entered = false;
  #accepted = false;

  constructor(
    server: Server,
    memory: Memento,
    discover: (query: string) => void,
    settings: { readonly limit: number; readonly preview: boolean },
  ) {
    this.#server = server;
    this.#memory = memory;
    this.#discover = discover;
    this.#settings = settings;
    this.#pick = window.createQuickPick<Item>();
    // Rows keep their rank while the user types. This option is not in VS Code's public interface yet.
    (this.#pick as { sortByLabel?: boolean }).sortByLabel = false;
    this.#pick.onDidChangeActive(([item]) => {
      this.#moved(item);
    });
    this.#pick.onDidTriggerItemButton(({ item }) => {
      this.#accept(item, true);
    });
    this.#pick.onDidAccept(() => {
      this.#enter();
    });
    this.#pick.onDidHide(() => {
      this.#hidden();
    });
  }

  showSearch(value: string, filter: string): void {
    this.#pick.title = "Cairn: Search";
    this.#pick.placeholder = "A question, a name or words. Filters: type:code lang:go path:src in:collection";
    this.#pick.onDidChangeValue((typed) => {
      this.#entered = false;
      clearTimeout(this.#typing);
      const pause = this.#askedAt + TYPING_MS - Date.now();
      if (pause <= 0) void this.#ask(typed);
      else this.#typing = setTimeout(() => void this.#ask(typed), pause);
    });
    // The initial text is selected, so the first key replaces it.
    this.#pick.value = value;
    this.#pick.show();
    if (filter) this.#pick.value = filter;
    void this.#ask(this.#pick.value);
  }

  showFixed(title: string, results: readonly SearchResult[]): void {
    this.#pick.title = title;
    this.#pick.matchOnDescription = true;
    this.#pick.placeholder = "Type to narrow down";
    this.#show(
      results.map((result) => resultRow(result, folderName(result.folder))),
      false,
    );
    this.#pick.show();
  }

  async #ask(typed: string): Promise<void> {
    const { query, filter } = parseQuery(typed);
    const asked = JSON.stringify([query, filter]);
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#askedAt = Date.now();
    this.#asking?.cancel();
    this.#asking = undefined;
    if (!query) {
      this.#pick.busy = false;
      this.#showRecent();
      return;
    }
    const asking = (this.#asking = new CancellationTokenSource());
    const slow = setTimeout(() => (this.#pick.busy = true), SLOW_MS);
    try {
      const answer = await this.#search(query, filter, asking);
      if (asking === this.#asking) this.#answered(query, answer);
    } catch (problem) {
      if (asking !== this.#asking || isCancelled(problem)) return;
      this.#asked = undefined; // Allow the same query again.
      this.#entered = false;
      const detail = plain(messageOf(problem));
      this.#show([{ kind: "note", label: "$(warning) Not searched", detail }]);
    } finally {
      clearTimeout(slow);
      if (asking === this.#asking) {
        this.#asking = undefined;
        this.#pick.busy = false;
      }
      asking.dispose();
    }
  }

  #search(
    query: string,
    filter: ReturnType<typeof parseQuery>["filter"],
    asking: CancellationTokenSource,
  ): Promise<SearchAnswer> {
    const { api } = this.#server;
    if (!api) throw new Error(this.#server.whyNot());
    // A row leads to one place, so further passages of a file are not needed.
    const { limit } = this.#settings;
    return api.search({ query, filter, limit, context: 0, passages: 1 }, asking.token);
  }

  #answered(query: string, answer: SearchAnswer): void {
    this.#query = query;
    this.#pick.title = titleOf(answer);
    this.#show(rowsOf(answer, query, folderName));
    if (this.#entered) this.#accept(this.#untouched, false);
    this.#entered = false;
  }

  #show(rows: readonly Row[], always = true): void {
    const items = rows.map((row): Item => ({
      row,
      label: row.label,
      alwaysShow: always,
      ...(row.description === undefined ? {} : { description: row.description }),
      ...(row.detail === undefined ? {} : { detail: row.detail }),
      ...(row.kind === "result" ? { buttons: [BESIDE] } : {}),
    }));
    const first = items.find((item) => "row" in item && item.row.kind === "result");
    this.#untouched = first ?? items[0];
    clearTimeout(this.#moving);
    this.#pick.items = items;
    this.#pick.activeItems = this.#untouched ? [this.#untouched] : [];
  }

  #showRecent(): void {
    const recent = recentSearches(this.#memory);
    const items: Item[] = recent.map((label) => ({
      label: `$(history) ${plain(label)}`,
      recent: label,
      alwaysShow: true,
    }));
    this.#untouched = items[0];
    if (items.length > 0)
      items.unshift({ label: "searched before", kind: QuickPickItemKind.Separator, separator: true });
    this.#pick.items = items;
  }

  #moved(item: Item | undefined): void {
    clearTimeout(this.#moving);
    if (!this.#settings.preview || !item || !("row" in item) || item.row.kind !== "result") return;
    if (item === this.#untouched) return;
    this.#untouched = undefined;
    this.#entered = false;
    const { result } = item.row;
    this.#moving = setTimeout(() => {
      this.#preview.show(result).catch(() => undefined); // The file may be gone. Opening it reports that.
    }, MOVING_MS);
  }

  /** The row that the user moved to, or else the first row, even if it still has to arrive. */
  #enter(): void {
    if (this.#asked !== undefined) {
      clearTimeout(this.#typing);
      void this.#ask(this.#pick.value);
    }
    const [item] = this.#pick.activeItems;
    // While the user types, the editor activates the first row, which may be the clarifying question.
    const moved = item && item !== this.#untouched && item !== this.#pick.items[0];
    this.#entered = this.#asking !== undefined && !moved;
    if (!this.#entered) this.#accept(item, false);
  }

  #accept(item: Item | undefined, beside: boolean): void {
    if (!item || "separator" in item) return;
    if ("recent" in item) {
      this.#pick.value = item.recent;
      void this.#ask(item.recent);
      return;
    }
    const { row } = item;
    if (row.kind === "note") return;
    if (row.kind === "question") {
      this.#show(row.offers.map((result) => resultRow(result, folderName(result.folder))));
      return;
    }
    this.#accepted = true;
    this.#remember();
    if (row.kind === "discover") void this.#leaveFor(row.query);
    else void this.#open(row.result, beside);
    this.#pick.hide();
  }

  async #leaveFor(question: string): Promise<void> {
    await this.#preview.restore();
    this.#discover(question);
  }

  async #open(result: SearchResult, beside: boolean): Promise<void> {
    if (beside) await this.#preview.restore();
    else await this.#preview.keep();
    try {
      await open(result, beside);
      this.#server.api?.tellFeedback(this.#query, result, "open");
    } catch (problem) {
      void window.showWarningMessage(`${result.path} cannot be opened: ${String(problem)}`);
    }
  }

  #remember(): void {
    const typed = this.#pick.value.trim();
    if (!this.#query || !typed) return;
    const others = recentSearches(this.#memory).filter((recent) => recent !== typed);
    void this.#memory.update(RECENT, [typed, ...others].slice(0, MOST_RECENT));
  }

  #hidden(): void {
    clearTimeout(this.#typing);
    clearTimeout(this.#moving);
    this.#asking?.cancel();
    this.#asking = undefined;
    if (!this.#accepted) void this.#preview.restore();
    this.#pick.dispose();
  }
}

function recentSearches(memory: Memento): string[] {
  return memory.get<string[]>(RECENT, []);
}
