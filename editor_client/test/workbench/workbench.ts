// One page of the workbench in a headless browser, as somebody sees and uses it. The selectors are VS Code's internals:
// they belong to the pinned code-server.

import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { type Browser, chromium, type FrameLocator, type Locator, type Page } from "playwright-core";

import { CodeServer, type CodeServerOptions, parts } from "./code_server.ts";
import { eventually } from "./eventually.ts";

const SCREENSHOTS = join(import.meta.dirname, "..", "..", "test-results");
/** That of the pictures in the README, too. */
const WINDOW = { width: 1280, height: 800 };
const BROWSER_ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
];
/** For what two busy cores do. */
const DEADLINE_MS = 60_000;
/** For the palette and its rows, before it is opened once more: what closes just then takes it along. */
const ROWS_MS = 5_000;
/** A menu does not take clicks at once. */
const MENU_MS = 500;
const CLOSING_MS = 10_000;

/** What the quick pick shows of an item. */
export interface Row {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  readonly focused: boolean;
}

/** A place in the active editor, as the status bar tells it: 1-based. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

export class Workbench {
  readonly server: CodeServer;
  readonly page: Page;
  readonly #browser: Browser;

  private constructor(server: CodeServer, browser: Browser, page: Page) {
    this.server = server;
    this.#browser = browser;
    this.page = page;
  }

  /** A workbench with a folder, or a `.code-workspace` file, open. */
  static async open(opened: string, options: CodeServerOptions = {}): Promise<Workbench> {
    const server = await CodeServer.start(options);
    let browser: Browser | undefined;
    try {
      browser = await chromium.launch({ executablePath: parts.browser, args: BROWSER_ARGUMENTS });
      const context = await browser.newContext({ viewport: WINDOW });
      await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
      context.setDefaultTimeout(DEADLINE_MS);
      const page = await context.newPage();
      await page.goto(server.workbench(opened), { waitUntil: "domcontentloaded" });
      await page.locator(".monaco-workbench .statusbar").waitFor();
      return new Workbench(server, browser, page);
    } catch (problem) {
      await close(browser);
      await server.stop();
      throw problem;
    }
  }

  /** End the browser, code-server, and all that it has started. */
  async close(): Promise<void> {
    await close(this.#browser);
    await this.server.stop();
  }

  /** Wait until the extension's log says it. */
  async logged(text: string): Promise<void> {
    await eventually(`the log says “${text}”`, async () => {
      const log = await this.server.log();
      if (!log.includes(text)) throw new Error(log);
      return true;
    });
  }

  /** Write what is seen now to test-results/NAME.png. */
  async screenshot(name: string): Promise<void> {
    await mkdir(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) });
  }

  /** Choose a command in the palette, by the whole title that it shows: `Cairn: Search`. */
  async run(title: string): Promise<void> {
    await eventually(`the palette has ${title}`, async () => {
      await this.page.keyboard.press("F1");
      try {
        await this.quickInput.fill(`>${title}`, { timeout: ROWS_MS });
        await this.#row(title).click({ timeout: ROWS_MS });
        return true;
      } catch (problem) {
        // An open palette does not take in commands that an extension adds; another one has them.
        await this.page.keyboard.press("Escape");
        throw problem;
      }
    });
  }

  /** Open a file by its path, with the cursor in a 1-based line. */
  async openFile(path: string, line = 1): Promise<void> {
    await eventually(`${path} is open at line ${line}`, async () => {
      await this.page.keyboard.press("Control+P");
      await this.quickInput.fill(`${path}:${line}`, { timeout: ROWS_MS });
      await this.#row(basename(path)).first().click({ timeout: ROWS_MS });
      // The row may have been one of the list that was there before the path was typed, which knows of no line.
      return this.at(path, line, ROWS_MS);
    });
  }

  /** Choose an item of the menu of a file or folder at the top of the explorer. */
  async chooseInExplorer(name: string, item: string): Promise<void> {
    await this.run("View: Show Explorer");
    const row = this.page.locator(".explorer-folders-view .monaco-list-row", {
      has: this.page.locator(".label-name", { hasText: new RegExp(`^${escaped(name)}$`) }),
    });
    await row.click({ button: "right" });
    await pause(MENU_MS);
    await this.page.locator(".action-label:visible", { hasText: new RegExp(`^${escaped(item)}$`) }).click();
  }

  /** Choose an item of the explorer that opens the palette with a text in it, and wait until one can type behind that. */
  async askedInExplorer(name: string, item: string, text: string): Promise<void> {
    await eventually(`${item} opens the palette with “${text}”`, async () => {
      await this.chooseInExplorer(name, item);
      const stands = async () => (await this.quickInput.inputValue({ timeout: ROWS_MS })) === text;
      return eventually(`“${text}” stands in the palette`, stands, ROWS_MS);
    });
  }

  /** Where somebody types into the palette or a quick pick. */
  get quickInput(): Locator {
    return this.page.locator(".quick-input-widget:visible input.input");
  }

  /** Run a command that asks something; where to type, once what is open is what the command has opened. */
  async asked(title: string): Promise<Locator> {
    await this.run(title);
    await this.page.locator(".quick-input-widget:visible .quick-input-title", { hasText: title }).waitFor();
    return this.quickInput;
  }

  /** The rows of the quick pick as far as they are drawn; separators are none. */
  rows(): Promise<Row[]> {
    // In one go: rows come and go while they are read. A label with an icon begins with a space.
    return this.page.evaluate(`
      [...document.querySelectorAll(".quick-input-list .monaco-list-row")].map((row) => {
        const text = (selector) => row.querySelector(selector)?.innerText?.trim() ?? "";
        return {
          label: text(".quick-input-list-row .label-name"),
          description: text(".quick-input-list-row .label-description"),
          detail: text(".quick-input-list-label-meta"),
          focused: row.classList.contains("focused"),
        };
      })`);
  }

  /** Wait until the active editor's cursor is in the line of a file, and say where it is. */
  at(path: string, line: number, deadlineMs = DEADLINE_MS): Promise<Place> {
    const reached = async () => {
      const place = await this.place();
      if (place.file !== basename(path) || place.line !== line) throw new Error(JSON.stringify(place));
      return place;
    };
    return eventually(`the cursor is in line ${line} of ${path}`, reached, deadlineMs);
  }

  /** Where the active editor's cursor is. */
  async place(): Promise<Place> {
    const selection = await this.page.locator('[id="status.editor.selection"]').textContent();
    const [, line = "0", column = "0"] = /Ln (\d+), Col (\d+)/.exec(selection ?? "") ?? [];
    return { file: await this.activeTab(), line: Number(line), column: Number(column) };
  }

  /** The name on the active tab. */
  async activeTab(): Promise<string> {
    const tab = this.page.locator(".editor-group-container.active .tab.active");
    return (await tab.getAttribute("data-resource-name")) ?? "";
  }

  /** The names on the tabs of all editors. */
  tabs(): Promise<string[]> {
    return this.page.evaluate(`
      [...document.querySelectorAll(".editor-group-container .tab")].map((tab) => tab.dataset.resourceName)`);
  }

  /** The notifications that are shown. */
  toasts(): Promise<string[]> {
    return this.page.locator(".notifications-toasts .notification-list-item-message").allInnerTexts();
  }

  /** The status bar's items that begin with the text. */
  status(text: string | RegExp): Locator {
    return this.page.locator(".statusbar .statusbar-item", { hasText: text });
  }

  /** What an extension's webview shows, such as that of `cairn.cairn`. */
  webview(extension: string): FrameLocator {
    return this.page
      .frameLocator(`iframe.webview.ready[src*="extensionId=${extension}"]`)
      .frameLocator("#active-frame");
  }

  /** What is on the clipboard after a command, once it holds the text; whatever was on it before is gone. */
  async copied(command: string, text: string): Promise<string> {
    await this.page.evaluate('navigator.clipboard.writeText("")');
    await this.run(command);
    return eventually(`${text} is on the clipboard`, async () => {
      const found = await this.clipboard();
      return found.includes(text) ? found : undefined;
    });
  }

  clipboard(): Promise<string> {
    return this.page.evaluate("navigator.clipboard.readText()");
  }

  #row(label: string): Locator {
    const name = this.page.locator(".label-name").filter({ hasText: new RegExp(`^${escaped(label)}$`) });
    return this.page.locator(".quick-input-widget:visible .quick-input-list .monaco-list-row", { has: name });
  }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** The browser sometimes does not answer when it is told to go; its process goes with this one then. */
async function close(browser: Browser | undefined): Promise<void> {
  await Promise.race([browser?.close(), pause(CLOSING_MS, undefined, { ref: false })]);
}
