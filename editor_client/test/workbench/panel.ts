// The context panel, as a user sees it.

import type { FrameLocator, Locator } from "playwright-core";

import type { Workbench } from "./workbench.ts";

/** A passage, with its 1-based line. */
export interface Passage {
  readonly title: string;
  readonly file: string;
  readonly line: number;
}

export class Panel {
  readonly #frame: FrameLocator;

  /** What the webview shows. */
  get root(): Locator {
    return this.#frame.locator(":root");
  }

  private constructor(frame: FrameLocator) {
    this.#frame = frame;
  }

  /** Bring the panel to the front of the side bar. */
  static async show(workbench: Workbench): Promise<Panel> {
    const icon = 'a.action-label[aria-label^="Cairn"]';
    // Clicked once more, it would hide the side bar.
    if (!(await workbench.page.locator(`.activitybar .checked ${icon}`).isVisible())) {
      // A badge may cover the icon.
      await workbench.page.locator(`.activitybar .action-item:has(${icon})`).click();
    }
    return Panel.shown(workbench);
  }

  /** The panel, once something else has brought it to the front. */
  static async shown(workbench: Workbench): Promise<Panel> {
    const frame = workbench.webview("cairn.cairn");
    await frame.locator("main.panel").waitFor();
    return new Panel(frame);
  }

  /** What the passages belong to. */
  title(): Promise<string> {
    return this.#frame.locator("h1").innerText();
  }

  get pinned(): Locator {
    return this.#frame.locator("header .badge");
  }

  /** Wait until the panel shows the place with the title: its passages, or what was looked for. */
  async isAbout(title: string): Promise<void> {
    await this.#frame.locator("h1").getByText(title, { exact: true }).waitFor();
    await this.#frame.locator("button.passage, .message").first().waitFor();
  }

  /** All of them as they are at one moment, since they are drawn anew when others are found. */
  async passages(): Promise<Passage[]> {
    const texts = await this.#frame.locator("button.passage").locator(".title, .file").allTextContents();
    return Array.from({ length: texts.length / 2 }, (_, at) => {
      const [title = "", place = ""] = texts.slice(2 * at);
      const [file = "", line = ""] = place.split(":");
      return { title, file, line: Number(line) };
    });
  }

  /** Press a button by its name. */
  async press(name: string): Promise<void> {
    await this.#frame.getByRole("button", { name, exact: true }).click();
  }

  async open({ file, line }: Passage): Promise<void> {
    await this.#frame
      .locator("button.passage", { hasText: `${file}:${line}` })
      .first()
      .click();
  }
}
