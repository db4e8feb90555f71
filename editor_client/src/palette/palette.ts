// The search palette, and the commands of its keys. While it is open, a context key says what it shows.

import { commands, type Disposable, type Memento, workspace } from "vscode";

import type { SearchResult } from "../protocol.ts";
import type { Server } from "../server.ts";
import { OpenPalette, type Shows } from "./open_palette.ts";
import type { PaletteQuery } from "./query.ts";
import { RecentQuestions } from "./recent.ts";

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
  readonly #recent: RecentQuestions;
  readonly #discover: (asked: PaletteQuery) => void;
  #open: OpenPalette | undefined;
  #shows: Shows | undefined;

  constructor(server: Server, memory: Memento, discover: (asked: PaletteQuery) => void) {
    this.#server = server;
    this.#recent = new RecentQuestions(memory);
    this.#discover = discover;
  }

  /** The number of rows to request. */
  get limit(): number {
    return workspace.getConfiguration("cairn.palette").get("limit", 12);
  }

  /** A quick pick has no events for keys, so keys of open palettes are bound to commands. */
  register(): Disposable[] {
    const keys: Record<string, (open: OpenPalette) => unknown> = {
      discover: (open) => {
        open.discover();
      },
      unfold: (open) => open.unfold(open.active),
      fold: (open) => {
        open.fold(open.active);
      },
      why: (open) => {
        open.explain(open.active);
      },
      openToSide: (open) => {
        open.accept(open.active, true);
      },
      removeRecent: (open) => {
        open.removeRecent(open.active);
      },
    };
    return Object.entries(keys).map(([name, press]) =>
      commands.registerCommand(`cairn.palette.${name}`, () => this.#open && press(this.#open)),
    );
  }

  open({ value = "", filter = "", results }: Opened = {}): void {
    const palette: OpenPalette = new OpenPalette({
      server: this.#server,
      recent: this.#recent,
      limit: this.limit,
      preview: workspace.getConfiguration("cairn.palette").get("preview", true),
      discover: this.#discover,
      tell: (shows) => {
        this.#tell(palette, shows);
      },
    });
    if (results) palette.showFixed(results.title, results.found);
    else palette.showSearch(value, filter);
  }

  #tell(palette: OpenPalette, shows: Shows | undefined): void {
    // Another palette may have replaced this one before its closing is reported.
    if (!shows && this.#open !== palette) return;
    this.#open = shows && palette;
    if (shows === this.#shows) return;
    this.#shows = shows;
    void commands.executeCommand("setContext", "cairn.paletteShows", shows);
  }
}
