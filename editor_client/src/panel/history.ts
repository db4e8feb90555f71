// The history of a pinned panel: as in a browser, a new entry replaces those that lie forward of the current
// one.

/** Enough for an afternoon; each entry keeps the passages that were shown. */
const LONGEST = 50;

export class History<Entry> {
  readonly #entries: Entry[] = [];
  #at = -1;

  /** Undefined if the history is empty. */
  get current(): Entry | undefined {
    return this.#entries[this.#at];
  }

  get canGoBack(): boolean {
    return this.#at > 0;
  }

  get canGoForward(): boolean {
    return this.#at < this.#entries.length - 1;
  }

  add(entry: Entry): void {
    this.#entries.splice(this.#at + 1, Infinity, entry);
    if (this.#entries.length > LONGEST) this.#entries.shift();
    this.#at = this.#entries.length - 1;
  }

  /** Move one entry; false if there is none. */
  move(direction: "back" | "forward"): boolean {
    if (!(direction === "back" ? this.canGoBack : this.canGoForward)) return false;
    this.#at += direction === "back" ? -1 : 1;
    return true;
  }

  clear(): void {
    this.#entries.length = 0;
    this.#at = -1;
  }
}
