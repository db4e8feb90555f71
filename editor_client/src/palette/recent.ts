// The questions that were asked in this workspace. The editor keeps them with the workspace's state.

import type { Memento } from "vscode";

import { parseQuery } from "./query.ts";

const KEY = "cairn.recentSearches";
const MOST = 10;

export class RecentQuestions {
  readonly #memory: Memento;

  constructor(memory: Memento) {
    this.#memory = memory;
  }

  /** What was typed, with its filters, the latest first. */
  all(): readonly string[] {
    return this.#memory.get<readonly string[]>(KEY, []);
  }

  /** Add what was typed, unless it has only filters. */
  add(typed: string): void {
    const question = typed.trim();
    if (parseQuery(question).query) this.#keep([question, ...this.#without(question)].slice(0, MOST));
  }

  remove(question: string): void {
    this.#keep(this.#without(question));
  }

  clear(): void {
    this.#keep([]);
  }

  #without(question: string): readonly string[] {
    return this.all().filter((each) => each !== question);
  }

  #keep(questions: readonly string[]): void {
    void this.#memory.update(KEY, questions);
  }
}
