// Which sections of a view are folded, kept for all windows.

import type { Memento } from "vscode";

/** The sections that the user has folded (true) or unfolded (false). */
export type Folds<Section extends string> = Readonly<Partial<Record<Section, boolean>>>;

export class FoldMemory<Section extends string> {
  readonly #memory: Memento;
  readonly #key: string;

  constructor(memory: Memento, key: string) {
    this.#memory = memory;
    this.#key = key;
  }

  get all(): Folds<Section> {
    return this.#memory.get<Folds<Section>>(this.#key) ?? ({} as Folds<Section>);
  }

  set(section: Section, folded: boolean): void {
    void this.#memory.update(this.#key, { ...this.all, [section]: folded });
  }
}
