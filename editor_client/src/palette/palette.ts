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
import { parseQuery, withQuery } from "./query.ts";
import {
  leadsTo,
  lookAlike,
  plain,
  relatedRow,
  resultRow,
  type Row,
  rowsOf,
  titleOf,
  toggleReasons,
} from "./rows.ts";

/** Keystrokes within this time make one request; the first after a pause makes one at once. */
const TYPING_MS = 30;
/** The user has moved to a row if it stays selected for this long without typing. It is then previewed. */
const MOVING_MS = 60;
/** Progress is shown only after this time, because drawing it would delay a fast answer. */
const SLOW_MS = 200;
const RECENT = "cairn.recentSearches";
const MOST_RECENT = 10;

const WHY = { iconPath: new ThemeIcon("question"), tooltip: "Why?" };
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
  /** The result to which the user moved. */
  #chosen: SearchResult | undefined;
  #typed = "";
  #rows: readonly Row[] = [];
  /** Whether typing only narrows down rows that stay the same. */
  #isFixed = false;
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
    // The editor highlights what is typed in the second lines, too.
    this.#pick.matchOnDetail = true;
    this.#pick.onDidChangeActive(([item]) => {
      this.#moved(item);
    });
    this.#pick.onDidTriggerItemButton(({ button, item }) => {
      if (button === BESIDE) this.#accept(item, true);
      else this.#explain(item);
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
      this.#stay(typed);
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
    this.#isFixed = true;
    this.#show(results.map((result) => relatedRow(result, folderName(result.folder))));
    this.#pick.show();
  }

  /** Keep the row active to which the user moved, while they go on typing. The editor activates the first. */
  #stay(typed: string): void {
    clearTimeout(this.#moving);
    if (!typed.startsWith(this.#typed) && !this.#typed.startsWith(typed)) this.#chosen = undefined;
    this.#typed = typed;
    const item = this.#chosenItem();
    if (item) this.#pick.activeItems = [item];
  }

  #chosenItem(): Item | undefined {
    const chosen = this.#chosen;
    return chosen && this.#pick.items.find((item) => "row" in item && leadsTo(item.row, chosen));
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
    const shown = { limit, context: 0, passages: 1, bestOnly: true, explain: true };
    return api.search({ query, filter, ...shown }, asking.token);
  }

  #answered(query: string, answer: SearchAnswer): void {
    this.#query = query;
    this.#pick.title = titleOf(answer);
    this.#show(rowsOf(answer, folderName));
    if (this.#entered) this.#accept(this.#pick.activeItems[0], false);
    this.#entered = false;
  }

  /** Show the rows. The one to which the user moved stays active, if it is among them. */
  #show(rows: readonly Row[]): void {
    clearTimeout(this.#moving);
    if (!lookAlike(rows, this.#rows)) {
      const items = rows.map((row) => this.#itemOf(row));
      this.#rows = rows;
      this.#pick.keepScrollPosition = this.#chosen !== undefined;
      this.#pick.items = items;
    }
    const { items } = this.#pick;
    const chosen = this.#chosenItem();
    const first = items.find((item) => "row" in item && item.row.kind === "result") ?? items[0];
    if (!chosen) this.#chosen = undefined;
    this.#untouched = chosen ? undefined : first;
    const active = chosen ?? first;
    this.#pick.activeItems = active ? [active] : [];
  }

  #itemOf(row: Row): Item {
    return {
      row,
      label: row.label,
      alwaysShow: !this.#isFixed || row.kind === "reason",
      ...(row.description === undefined ? {} : { description: row.description }),
      ...(row.detail === undefined ? {} : { detail: row.detail }),
      ...(row.kind === "result" ? { buttons: [WHY, BESIDE] } : {}),
    };
  }

  /** Show below a result why it was found, or hide this again. */
  #explain(item: Item): void {
    if (!("row" in item) || item.row.kind !== "result") return;
    this.#chosen = item.row.result;
    this.#show(toggleReasons(this.#rows, item.row));
  }

  #showRecent(): void {
    const recent = recentSearches(this.#memory);
    const items: Item[] = recent.map((label) => ({
      label: `$(history) ${plain(label)}`,
      recent: label,
      alwaysShow: true,
    }));
    this.#untouched = items[0];
    this.#chosen = undefined;
    this.#rows = [];
    if (items.length > 0)
      items.unshift({ label: "searched before", kind: QuickPickItemKind.Separator, separator: true });
    this.#pick.items = items;
  }

  #moved(item: Item | undefined): void {
    clearTimeout(this.#moving);
    if (!item || !("row" in item) || item === this.#untouched) return;
    if (this.#chosen && leadsTo(item.row, this.#chosen)) return;
    const result = item.row.kind === "result" ? item.row.result : undefined;
    if (result) {
      this.#untouched = undefined;
      this.#entered = false;
    }
    this.#moving = setTimeout(() => {
      this.#chosen = result;
      if (!this.#settings.preview || !result) return;
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
      this.#replace(item.recent);
      return;
    }
    const { row } = item;
    if (row.kind === "note" || row.kind === "reason") return;
    if (row.kind === "further") {
      this.#replace(withQuery(this.#pick.value, row.word));
      return;
    }
    if (row.kind === "question") {
      this.#show(row.offers.map((result) => resultRow(result, folderName(result.folder))));
      return;
    }
    this.#accepted = true;
    this.#remember();
    if (row.kind === "discover") void this.#leaveFor(this.#query);
    else void this.#open(row.result, beside);
    this.#pick.hide();
  }

  /** Search for something else than what the user typed. */
  #replace(typed: string): void {
    this.#chosen = undefined;
    this.#pick.value = typed;
    void this.#ask(typed);
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
