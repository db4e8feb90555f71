// The view *Change*, as a user sees it.

import type { Locator } from "playwright-core";

import { eventually } from "./eventually.ts";
import { Panel } from "./panel.ts";
import type { Workbench } from "./workbench.ts";

/** A row as it is drawn, with its place in the tree. */
export interface Row {
  readonly label: string;
  readonly description: string;
  readonly level: number;
  readonly expanded: boolean | undefined;
  readonly focused: boolean;
  /** What a screen reader says. */
  readonly spoken: string;
}

/** Runs in the page: returns the rows at one moment. */
const ROWS = `[...document.querySelectorAll(".pane")]
  .filter((pane) => pane.querySelector(".pane-header")?.ariaLabel?.startsWith("Change"))
  .flatMap((pane) => [...pane.querySelectorAll(".monaco-list-row")])
  .sort((one, other) => Number(one.dataset.index) - Number(other.dataset.index))
  .map((row) => ({
    label: row.querySelector(".label-name")?.textContent ?? "",
    description: row.querySelector(".label-description")?.textContent ?? "",
    level: Number(row.ariaLevel),
    expanded: row.ariaExpanded === null ? undefined : row.ariaExpanded === "true",
    focused: row.matches(".monaco-list:focus .focused"),
    spoken: row.ariaLabel ?? "",
  }))`;

export class ChangeTree {
  readonly #workbench: Workbench;

  private constructor(workbench: Workbench) {
    this.#workbench = workbench;
  }

  /** Bring the view to the front of the side bar. */
  static async show(workbench: Workbench): Promise<ChangeTree> {
    await Panel.show(workbench);
    const tree = new ChangeTree(workbench);
    await tree.pane.waitFor();
    return tree;
  }

  get pane(): Locator {
    return this.#workbench.page.locator(".pane", {
      has: this.#workbench.page.locator('.pane-header[aria-label^="Change"]'),
    });
  }

  rows(): Promise<Row[]> {
    return this.#workbench.page.evaluate(ROWS);
  }

  row(label: string): Locator {
    return this.pane.locator(".monaco-list-row", { hasText: label }).first();
  }

  /** The rows below a section, once there are any that are as wanted. */
  async section(heading: string, wanted: (rows: Row[]) => boolean = () => true): Promise<Row[]> {
    return eventually(`rows below ${heading}`, async () => {
      const rows = await this.rows();
      const at = rows.findIndex(({ label }) => label === heading);
      const rest = rows.slice(at + 1);
      const end = rest.findIndex(({ level }) => level === 1);
      const below = end < 0 ? rest : rest.slice(0, end);
      if (at < 0 || below.length === 0 || !wanted(below)) throw new Error(JSON.stringify(rows));
      return below;
    });
  }

  /** Wait until the sentences above the rows say it. */
  async says(text: string): Promise<void> {
    await this.pane.locator(".message", { hasText: text }).waitFor();
  }

  /** The names of the buttons of the view's title. */
  async buttons(): Promise<string[]> {
    const header = this.pane.locator(".pane-header");
    await header.hover();
    await header.getByRole("button", { name: "Refresh" }).waitFor();
    const labels = await header.locator("a.action-label").all();
    return Promise.all(labels.map(async (label) => (await label.getAttribute("aria-label")) ?? ""));
  }

  /** Press a button of the view's title. */
  async press(name: string): Promise<void> {
    await this.pane.locator(".pane-header").hover();
    await this.pane.locator(".pane-header").getByRole("button", { name }).click();
  }
}
