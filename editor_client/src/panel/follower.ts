// Decides when a view sends a request: when the cursor rests at a place that the shown answer does not cover.
// For a view of a whole folder, the place is the folder, with a version that counts its changes.

import type { Position, Range } from "../protocol.ts";
import { History } from "./history.ts";

/** A place in a document or folder. */
export interface Place {
  readonly uri: string;
  readonly version: number;
  /** An empty range for a cursor. */
  readonly selection: Range;
}

/** The answer for a place, or why there is none. */
export type Outcome<Answer> =
  { readonly place: Place; readonly answer: Answer } | { readonly place: Place; readonly problem: unknown };

export interface Listener<Answer> {
  /** A late result after `signal` aborted is ignored. */
  ask(place: Place, signal: AbortSignal): Promise<Answer>;
  /** Undefined if no document is open. */
  show(outcome: Outcome<Answer> | undefined): void;
}

/** Long enough to skip lines while an arrow key is held. */
export const MOVED_MS = 150;
/** The server chunks a changed document again, so the panel waits for a pause. */
export const TYPED_MS = 600;
/** The index generation changes several times a second while a folder is indexed. */
export const INDEXED_MS = 3000;

/** The places and the generation for which an answer is valid. */
interface Covering {
  /** Absent if the answer holds for no other place. */
  readonly place?: { readonly range: Range };
  readonly index: { readonly generation: number };
}

interface Entry<Answer> {
  readonly place: Place;
  /** The answer that was last shown for the place; going back shows it again. */
  outcome?: Outcome<Answer>;
}

export class Follower<Answer extends Covering> {
  readonly #listener: Listener<Answer>;
  #place: Place | undefined;
  /** The pinned places; empty if the panel is not pinned. */
  readonly #history = new History<Entry<Answer>>();
  #outcome: Outcome<Answer> | undefined;
  #visible = false;
  #serving = false;
  #generation: number | undefined;
  /** The generation for which there was no answer. */
  #failedAt: number | undefined;
  #typing = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #running: { readonly place: Place; readonly abort: AbortController } | undefined;

  constructor(listener: Listener<Answer>) {
    this.#listener = listener;
  }

  get pinned(): boolean {
    return this.#pinned !== undefined;
  }

  /** Whether there are places before and after the pinned one; undefined if the panel is not pinned. */
  get history(): { readonly canGoBack: boolean; readonly canGoForward: boolean } | undefined {
    const { canGoBack, canGoForward } = this.#history;
    return this.pinned ? { canGoBack, canGoForward } : undefined;
  }

  /** Whether the outcome is that of the target. */
  get settled(): boolean {
    return this.#outcome !== undefined && !this.#running && !this.#isStale();
  }

  get outcome(): Outcome<Answer> | undefined {
    return this.#outcome;
  }

  /** The place that the panel shows or will show: the pinned place, or the cursor. */
  get target(): Place | undefined {
    return this.#pinned ?? this.#place;
  }

  /** The current place after any event in the editor; undefined if no document is open. */
  follow(place: Place | undefined): void {
    const before = this.#place;
    this.#place = place;
    if (before && place?.uri === before.uri) this.#typing ||= place.version !== before.version;
    else this.#typing = false;
    if (this.#pinned || (place && this.#running && isSamePlace(place, this.#running.place))) return;
    if (this.#isStale()) this.#updateIn(this.#typing ? TYPED_MS : MOVED_MS);
    else this.#stop();
  }

  /** Disabled while the panel is hidden. */
  setVisible(visible: boolean): void {
    if (visible === this.#visible) return;
    this.#visible = visible;
    this.#updateNow();
  }

  /** A new server has answered nothing yet. */
  setServing(serving: boolean): void {
    if (serving === this.#serving) return;
    this.#serving = serving;
    this.#generation = undefined;
    if (!this.#pinned) this.#outcome = undefined;
    this.#updateNow();
  }

  indexChanged(generation: number): void {
    this.#generation = generation;
    if (!this.#pinned && this.#timer === undefined && this.#isStale()) this.#updateIn(INDEXED_MS);
  }

  /** Pin the panel to the current place, also from another pinned place. Returns false if there is none. */
  pin(): boolean {
    if (this.#place) this.pinTo(this.#place);
    return this.pinned;
  }

  /** Pin the panel to a place. A place within the pinned passage is the same entry of the history. */
  pinTo(place: Place): void {
    const shown = this.#outcome && holds(this.#outcome, place) ? this.#outcome : undefined;
    const added = shown?.place ?? place;
    if (!this.#pinned || !isSamePlace(this.#pinned, added)) {
      this.#keepOutcome();
      this.#history.add({ place: added });
      this.#outcome = shown ?? this.#shownWhileServing();
    }
    if (shown && !this.#isCurrent(shown)) this.#ask();
    else this.#updateNow();
  }

  unpin(): void {
    this.#history.clear();
    this.#updateNow();
  }

  /** Go to the pinned place before or after the current one. Returns false if there is none. */
  move(direction: "back" | "forward"): boolean {
    this.#keepOutcome();
    if (!this.#history.move(direction)) return false;
    this.#outcome = this.#history.current?.outcome ?? this.#shownWhileServing();
    this.#updateNow();
    return true;
  }

  /** Request again, pinned or not. */
  refresh(): void {
    this.#ask();
  }

  dispose(): void {
    this.#stop();
  }

  get #pinned(): Place | undefined {
    return this.#history.current?.place;
  }

  /** The shown outcome stays until there is an answer for another place, which only a server gives. */
  #shownWhileServing(): Outcome<Answer> | undefined {
    return this.#serving ? this.#outcome : undefined;
  }

  #keepOutcome(): void {
    const entry = this.#history.current;
    const shown = this.#outcome;
    if (entry && shown && "answer" in shown && isSamePlace(shown.place, entry.place)) entry.outcome = shown;
  }

  #isStale(): boolean {
    const target = this.target;
    if (!this.#outcome || !target) return this.#outcome !== undefined || target !== undefined;
    if (this.#pinned) return !isSamePlace(this.#outcome.place, this.#pinned);
    return !this.#covers(this.#outcome, target);
  }

  #covers(outcome: Outcome<Answer>, place: Place): boolean {
    return this.#isCurrent(outcome) && holds(outcome, place);
  }

  /** Whether the outcome is from the current generation of the index. */
  #isCurrent(outcome: Outcome<Answer>): boolean {
    const generation = "answer" in outcome ? outcome.answer.index.generation : this.#failedAt;
    return this.#generation === undefined || generation === this.#generation;
  }

  #updateIn(delay: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#visible) return;
    this.#timer = setTimeout(() => {
      this.#updateNow();
    }, delay);
  }

  #updateNow(): void {
    this.#stop();
    if (!this.#visible || !this.#isStale()) return;
    if (this.target) this.#ask();
    else {
      this.#outcome = undefined;
      this.#listener.show(undefined);
    }
  }

  #ask(): void {
    this.#stop();
    const place = this.target;
    if (!place || !this.#visible || !this.#serving) return;
    this.#typing = false;
    const abort = new AbortController();
    const generation = this.#generation;
    const settle = (outcome: Outcome<Answer>) => {
      if (abort.signal.aborted) return;
      this.#running = undefined;
      this.#failedAt = generation;
      this.#outcome = outcome;
      this.#listener.show(outcome);
    };
    this.#running = { place, abort };
    this.#listener.ask(place, abort.signal).then(
      (answer) => {
        settle({ place, answer });
      },
      (problem: unknown) => {
        settle({ place, problem });
      },
    );
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running?.abort.abort();
    this.#running = undefined;
  }
}

/** Whether the outcome is that of the place, whatever changed in the index since. */
function holds(outcome: Outcome<Covering>, place: Place): boolean {
  const asked = outcome.place;
  if (asked.uri !== place.uri || asked.version !== place.version) return false;
  if (isSameRange(asked.selection, place.selection)) return true;
  // A selection of several lines means exactly these lines; a cursor means its whole passage.
  if (!("answer" in outcome) || spansLines(asked.selection) || spansLines(place.selection)) return false;
  if (!outcome.answer.place) return false;
  const { start, end } = outcome.answer.place.range;
  const cursor = place.selection.end;
  return isBefore(start, cursor, true) && isBefore(cursor, end, false);
}

export function spansLines(selection: Range): boolean {
  return selection.start.line !== selection.end.line;
}

function isSamePlace(one: Place, other: Place): boolean {
  return (
    one.uri === other.uri && one.version === other.version && isSameRange(one.selection, other.selection)
  );
}

function isSameRange(one: Range, other: Range): boolean {
  return isSamePosition(one.start, other.start) && isSamePosition(one.end, other.end);
}

function isSamePosition(one: Position, other: Position): boolean {
  return one.line === other.line && one.character === other.character;
}

function isBefore(one: Position, other: Position, orSame: boolean): boolean {
  if (one.line !== other.line) return one.line < other.line;
  return one.character < other.character || (orSame && one.character === other.character);
}
