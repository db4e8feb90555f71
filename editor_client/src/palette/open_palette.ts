// A palette that is open: searches while the user types, previews the selected row, and opens one.

import { CancellationTokenSource, type QuickInputButton, type QuickPick, window } from "vscode";

import { type Api, isCancelled } from "../api.ts";
import { folderName, open, Preview } from "../places.ts";
import { messageOf } from "../problem.ts";
import type { SearchAnswer, SearchFilter, SearchResult } from "../protocol.ts";
import type { Server } from "../server.ts";
import { BESIDE, DISCOVER, FOLD, type Item, itemOf, REMOVE, UNFOLD, WHY } from "./buttons.ts";
import { fold, passagesOf, resultRowOf, unfold } from "./passages.ts";
import { type PaletteQuery, parseQuery, withQuery } from "./query.ts";
import type { RecentQuestions } from "./recent.ts";
import {
  leadsTo,
  lookAlike,
  plain,
  recentRows,
  relatedRow,
  type ResultRow,
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
const NOTHING_ASKED: PaletteQuery = { query: "", filter: {} };

/** What the rows are: recent questions, results of a search, or fixed results. */
export type Shows = "recent" | "results" | "fixed";

/** What a palette needs of its surroundings. */
export interface Surroundings {
  readonly server: Server;
  readonly recent: RecentQuestions;
  readonly limit: number;
  readonly preview: boolean;
  readonly discover: (asked: PaletteQuery) => void;
  /** Called when the rows become of another kind; without a kind when the palette is closed. */
  readonly tell: (shows?: Shows) => void;
}

export class OpenPalette {
  readonly #around: Surroundings;
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
  /** The query of the latest answer. */
  #answer = NOTHING_ASKED;
  #unfolding: CancellationTokenSource | undefined;
  /** Enter was pressed before the rows arrived: open the first one when they do. */
  #entered = false;
  #accepted = false;

  constructor(around: Surroundings) {
    this.#around = around;
    this.#pick = window.createQuickPick<Item>();
    // Rows keep their rank while the user types. This option is not in VS Code's public interface yet.
    (this.#pick as { sortByLabel?: boolean }).sortByLabel = false;
    // The editor highlights what is typed in the second lines, too.
    this.#pick.matchOnDetail = true;
    this.#pick.onDidChangeActive(([item]) => {
      this.#moved(item);
    });
    this.#pick.onDidTriggerItemButton(({ button, item }) => {
      this.#pressed(button, item);
    });
    this.#pick.onDidTriggerButton(() => {
      this.discover();
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
    this.#pick.buttons = [DISCOVER];
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
    this.#around.tell("fixed");
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
    return chosen && this.#pick.items.find(({ row }) => leadsTo(row, chosen));
  }

  async #ask(typed: string): Promise<void> {
    const { query, filter } = parseQuery(typed);
    const asked = JSON.stringify([query, filter]);
    if (asked === this.#asked) return;
    this.#asked = asked;
    this.#askedAt = Date.now();
    this.#asking?.cancel();
    this.#asking = undefined;
    this.#around.tell(query ? "results" : "recent");
    if (!query) {
      this.#pick.busy = false;
      this.#chosen = undefined;
      this.#showRecent();
      return;
    }
    const asking = (this.#asking = new CancellationTokenSource());
    const slow = setTimeout(() => (this.#pick.busy = true), SLOW_MS);
    try {
      const answer = await this.#search(query, filter, asking);
      if (asking === this.#asking) this.#answered({ query, filter }, answer);
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

  #search(query: string, filter: SearchFilter, asking: CancellationTokenSource): Promise<SearchAnswer> {
    // A row leads to one place. Further passages of a file are asked for when the row is unfolded.
    const shown = { limit: this.#around.limit, context: 0, passages: 1, bestOnly: true, explain: true };
    return this.#api().search({ query, filter, ...shown }, asking.token);
  }

  /** Throws why there is no server, if there is none. */
  #api(): Api {
    const { server } = this.#around;
    if (!server.api) throw new Error(server.whyNot());
    return server.api;
  }

  #answered(asked: PaletteQuery, answer: SearchAnswer): void {
    this.#answer = asked;
    this.#pick.title = titleOf(answer);
    this.#show(rowsOf(answer, folderName));
    if (this.#entered) this.accept(this.active, false);
    this.#entered = false;
  }

  /** Show the rows. The one to which the user moved stays active, if it is among them. */
  #show(rows: readonly Row[]): void {
    clearTimeout(this.#moving);
    if (!lookAlike(rows, this.#rows)) {
      const items = rows.map((row) => itemOf(row, this.#isFixed));
      this.#rows = rows;
      this.#pick.keepScrollPosition = this.#chosen !== undefined;
      this.#pick.items = items;
    }
    const { items } = this.#pick;
    const chosen = this.#chosenItem();
    const first =
      items.find(({ row }) => row.kind === "result") ?? items.find(({ row }) => row.kind !== "separator");
    if (!chosen) this.#chosen = undefined;
    this.#untouched = chosen ? undefined : first;
    const active = chosen ?? first;
    this.#pick.activeItems = active ? [active] : [];
  }

  #pressed(button: QuickInputButton, { row }: Item): void {
    if (button === BESIDE) this.accept(row, true);
    else if (button === REMOVE) this.removeRecent(row);
    else if (button === UNFOLD) void this.unfold(row);
    else if (button === FOLD) this.fold(row);
    else if (button === WHY) this.explain(row);
  }

  /** Answer what is typed with excerpts or, if nothing is, the active recent question. */
  discover(): void {
    const row = this.active;
    const isTyped = parseQuery(this.#pick.value).query !== "";
    const typed = !isTyped && row?.kind === "recent" ? row.typed : this.#pick.value;
    const asked = parseQuery(typed);
    if (this.#isFixed || !asked.query) return;
    this.#around.recent.add(typed);
    void this.#leaveFor(asked);
    this.#accepted = true;
    this.#pick.hide();
  }

  /** The row that the keys are for. */
  get active(): Row | undefined {
    return this.#pick.activeItems[0]?.row;
  }

  /** Show below a result why it was found, or hide this again. */
  explain(row: Row | undefined): void {
    if (row?.kind === "result") this.#showAt(row, toggleReasons(this.#rows, row));
  }

  fold(row: Row | undefined): void {
    const asked = resultRowOf(this.#rows, row);
    if (asked) this.#showAt(asked, fold(this.#rows, asked));
  }

  /** Show further passages of a result's file below it. */
  async unfold(row: Row | undefined): Promise<void> {
    if (row?.kind !== "result" || row.unfolded > 0 || this.#isFixed) return;
    this.#unfolding?.cancel();
    const unfolding = (this.#unfolding = new CancellationTokenSource());
    const slow = setTimeout(() => (this.#pick.busy = true), SLOW_MS);
    const show = (found: readonly SearchResult[], ifNone?: string): void => {
      // Another answer may have replaced the row meanwhile.
      if (this.#rows.includes(row)) this.#showAt(row, unfold(this.#rows, row, found, ifNone));
    };
    try {
      show(await passagesOf(this.#api(), this.#answer, row.result, this.#rows, unfolding.token));
    } catch (problem) {
      if (!isCancelled(problem)) show([], messageOf(problem));
    } finally {
      clearTimeout(slow);
      if (!this.#asking) this.#pick.busy = false;
      unfolding.dispose();
    }
  }

  /** Show other rows around a result, which stays active where it is, or becomes active. */
  #showAt({ result }: ResultRow, rows: readonly Row[]): void {
    if (result !== this.#chosen) this.#choose(result);
    this.#show(rows);
  }

  #showRecent(): void {
    const questions = this.#around.recent.all();
    this.#show(recentRows(questions));
    if (questions.length === 0) void this.#suggest();
  }

  /** Show names of the workspace as examples, if nothing else has been asked meanwhile. */
  async #suggest(): Promise<void> {
    const rows = this.#rows;
    const names = await this.#around.server.api?.importantNames().catch(() => []);
    if (names && rows === this.#rows) this.#show(recentRows([], names));
  }

  removeRecent(row: Row | undefined): void {
    if (row?.kind !== "recent") return;
    const at = this.#rows.indexOf(row);
    this.#around.recent.remove(row.typed);
    this.#showRecent();
    const next = this.#pick.items[at];
    if (next) this.#pick.activeItems = [next];
  }

  #moved(item: Item | undefined): void {
    clearTimeout(this.#moving);
    if (!item || item === this.#untouched) return;
    if (this.#chosen && leadsTo(item.row, this.#chosen)) return;
    const { row } = item;
    const result = row.kind === "result" || row.kind === "passage" ? row.result : undefined;
    if (result) {
      this.#untouched = undefined;
      this.#entered = false;
    }
    this.#moving = setTimeout(() => {
      this.#choose(result);
    }, MOVING_MS);
  }

  #choose(result: SearchResult | undefined): void {
    this.#chosen = result;
    if (!this.#around.preview || !result) return;
    this.#preview.show(result).catch(() => undefined); // The file may be gone. Opening it reports that.
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
    if (!this.#entered) this.accept(item?.row, false);
  }

  accept(row: Row | undefined, beside: boolean): void {
    switch (row?.kind) {
      case "result":
      case "passage":
        this.#accepted = true;
        void this.#open(row.result, beside);
        this.#pick.hide();
        return;
      case "discover":
        this.discover();
        return;
      case "recent":
        this.#replace(row.typed);
        return;
      case "further":
        this.#replace(withQuery(this.#pick.value, row.word));
        return;
      case "question":
        this.#show(row.offers.map((result) => resultRow(result, folderName(result.folder))));
        return;
      case "forget":
        this.#around.recent.clear();
        this.#showRecent();
    }
  }

  /** Search for something else than what the user typed. */
  #replace(typed: string): void {
    this.#chosen = undefined;
    this.#pick.value = typed;
    void this.#ask(typed);
  }

  async #leaveFor(asked: PaletteQuery): Promise<void> {
    await this.#preview.restore();
    this.#around.discover(asked);
  }

  async #open(result: SearchResult, beside: boolean): Promise<void> {
    if (beside) await this.#preview.restore();
    else await this.#preview.keep();
    try {
      await open(result, beside);
      const { server } = this.#around;
      if (result.contentHash) server.api?.tellFeedback(this.#answer.query, result, "open");
    } catch (problem) {
      void window.showWarningMessage(`${result.path} cannot be opened: ${String(problem)}`);
    }
  }

  #hidden(): void {
    clearTimeout(this.#typing);
    clearTimeout(this.#moving);
    this.#asking?.cancel();
    this.#asking = undefined;
    this.#unfolding?.cancel();
    this.#around.tell();
    // A question whose results were neither looked at nor opened may be half typed.
    const wasAsked = this.#answer.query !== "" && (this.#accepted || this.#chosen !== undefined);
    if (wasAsked) this.#around.recent.add(this.#pick.value);
    if (!this.#accepted) void this.#preview.restore();
    this.#pick.dispose();
  }
}
