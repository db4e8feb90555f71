// One page of the workbench in a headless browser, as a user sees it. The selectors are VS Code's internals:
// they belong to the pinned code-server.

import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { type Browser, chromium, type FrameLocator, type Locator, type Page } from "playwright-core";

import { CodeServer, type CodeServerOptions, parts } from "./code_server.ts";
import { DEADLINE_MS, eventually } from "./eventually.ts";

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
/** For the palette to open; a key that is pressed before the workbench takes any opens none. */
const OPENS_MS = 15_000;
/** A menu drops clicks while it is being drawn; what it takes closes it well before this. */
const MENU_MS = 2_000;
const CLOSING_MS = 10_000;

/** What the quick pick shows of an item. */
export interface Row {
  readonly label: string;
  readonly description: string;
  readonly detail: string;
  /** The parts of the label and the description that are marked because they match what is typed. */
  readonly matched: string;
  /** What the row and those below it are called together, where they begin. */
  readonly group: string;
  readonly focused: boolean;
}

/** The palette, or any other quick pick, as it is drawn at one moment. */
interface QuickPick {
  readonly typed: string;
  /** Those that are scrolled into view; separators are no rows. */
  readonly rows: readonly Row[];
}

/** Runs in the page, as one step because rows change: returns the quick pick, or null. */
const QUICK_PICK = `(() => {
  const widget = document.querySelector(".quick-input-widget");
  if (!widget || widget.style.display === "none") return null;
  const rows = [...widget.querySelectorAll(".quick-input-list .monaco-list-row")].map((row) => {
    // A label with an icon begins with a space.
    const text = (selector) => row.querySelector(selector)?.innerText?.trim() ?? "";
    return {
      label: text(".quick-input-list-row .label-name"),
      description: text(".quick-input-list-row .label-description"),
      detail: text(".quick-input-list-label-meta"),
      matched: [...row.querySelectorAll(".quick-input-list-row .highlight")]
        .filter((part) => !part.closest(".quick-input-list-label-meta"))
        .map((part) => part.innerText)
        .join(""),
      group: text(".quick-input-list-separator"),
      focused: row.classList.contains("focused"),
    };
  });
  return { typed: widget.querySelector("input.input")?.value ?? "", rows };
})()`;

/** In the page, and in one go: the name on the active tab, and what the status bar says of the cursor. */
const ACTIVE_EDITOR = `({
  file: document.querySelector(".editor-group-container.active .tab.active")?.dataset.resourceName ?? "",
  selection: document.getElementById("status.editor.selection")?.textContent ?? "",
})`;

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
    const isCommand = ({ label, matched }: Row) => label === title && matched === title;
    await this.#choose("F1", `>${title}`, isCommand, isFilteredCommand);
  }

  /** Open a file by its path, with the cursor in a 1-based line, and wait until one can type there. */
  async openFile(path: string, line = 1): Promise<void> {
    const [name, folder] = [basename(path), dirname(path) === "." ? "" : dirname(path)];
    // Other files whose paths hold the same letters in the same order match, too.
    const isFile = ({ label, description, matched }: Row) =>
      label === name && description === folder && matched === name + folder;
    await this.#choose("Control+P", `${path}:${line}`, isFile, saysNone);
    await this.at(path, line);
    await this.quickInput.waitFor({ state: "hidden" });
    await this.page.locator(".editor-group-container.active .monaco-editor.focused").waitFor();
  }

  /** Close the palette, or whatever else is asked for in its place, if it is open. */
  async closePalette(): Promise<void> {
    await eventually("the palette is closed", async () => {
      if ((await this.#quickPick()) === null) return true;
      await this.page.keyboard.press("Escape");
      return false;
    });
  }

  /** Choose an item in the menu of a file or folder in the explorer, while a file is open. */
  async chooseInExplorer(name: string, item: string): Promise<void> {
    await this.run("View: Show Explorer");
    const rows = this.page.locator(".explorer-folders-view .monaco-list-row");
    const named = (text: string) => this.page.locator(".label-name", { hasText: exactly(text) });
    // The explorer unfolds the folders of the file that is in the editor, and rows move until it is there.
    await rows.filter({ has: named(await this.activeTab()) }).waitFor();
    await rows.filter({ has: named(name) }).click({ button: "right" });
    const label = this.page.locator(".action-label:visible", { hasText: exactly(item) });
    await label.waitFor();
    await eventually(`${item} is chosen`, async () => {
      if (await label.isVisible()) await label.click({ timeout: MENU_MS });
      await label.waitFor({ state: "hidden", timeout: MENU_MS });
      return true;
    });
  }

  /** Choose an item of the explorer that opens the palette with a text, and wait until it accepts input. */
  async askedInExplorer(name: string, item: string, text: string): Promise<void> {
    await this.chooseInExplorer(name, item);
    await eventually(
      `“${text}” stands in the palette`,
      async () => (await this.#quickPick())?.typed === text,
    );
  }

  /** The input of the palette or a quick pick. */
  get quickInput(): Locator {
    return this.page.locator(".quick-input-widget:visible input.input");
  }

  /** Run a command that asks something; where to type, once what is open is what the command has opened. */
  async asked(title: string): Promise<Locator> {
    const shown = this.page.locator(".quick-input-widget:visible .quick-input-title", { hasText: title });
    await eventually(`${title} asks`, async () => {
      await this.run(title);
      await shown.waitFor({ timeout: OPENS_MS }); // An editor that takes the focus late closes it.
      return true;
    });
    return this.quickInput;
  }

  /** The rows of the quick pick as far as they are drawn; separators are none. */
  async rows(): Promise<readonly Row[]> {
    return (await this.#quickPick())?.rows ?? [];
  }

  /** Press a button of the active row. */
  async pressRowButton(name: string): Promise<void> {
    const row = this.page.locator(".quick-input-list .monaco-list-row.focused");
    await row.hover();
    await row.getByRole("button", { name }).click();
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

  /** Where the active editor's cursor is; line 0 where there is none. */
  async place(): Promise<Place> {
    const { file, selection } = await this.page.evaluate<{ file: string; selection: string }>(ACTIVE_EDITOR);
    const [, line = "0", column = "0"] = /Ln (\d+), Col (\d+)/.exec(selection) ?? [];
    return { file, line: Number(line), column: Number(column) };
  }

  /** The name on the active tab. */
  async activeTab(): Promise<string> {
    return (await this.page.evaluate<{ file: string }>(ACTIVE_EDITOR)).file;
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

  /**
   * Open a palette with a key, type into it, and choose a row. Rows of earlier text remain until new ones
   * replace them, so a click could hit another row; Enter chooses the row once it has the focus. `isFinal`
   * says whether other rows mean that the row will not come.
   */
  async #choose(
    key: string,
    typed: string,
    wanted: (row: Row) => boolean,
    isFinal: (row: Row) => boolean,
  ): Promise<void> {
    const offered = async () => {
      const shown = await this.#quickPick();
      if (shown?.typed !== typed) return { problem: "it was closed", shown };
      const row = shown.rows.find(wanted);
      if (row?.focused) return {};
      if (row) await this.page.keyboard.press("ArrowDown");
      else if (shown.rows.some(isFinal)) return { problem: "it has no such row", shown };
      return undefined;
    };
    await eventually(`the palette offers what is meant by ${typed}`, async () => {
      await this.closePalette();
      await this.page.keyboard.press(key);
      await this.quickInput.fill(typed, { timeout: OPENS_MS });
      const { problem, shown } = await eventually(`a row for ${typed}`, offered);
      // An open palette does not show new commands and files, so it is opened again.
      if (problem) throw new Error(`${problem}: ${JSON.stringify(shown)}`);
      return true;
    });
    await this.quickInput.press("Enter");
  }

  #quickPick(): Promise<QuickPick | null> {
    return this.page.evaluate(QUICK_PICK);
  }
}

/** Whether the row stands in the list of what is typed, rather than in that of all commands. */
function isFilteredCommand(row: Row): boolean {
  return row.matched !== "" || row.group === "similar commands" || saysNone(row);
}

function saysNone({ label }: Row): boolean {
  return label.startsWith("No matching ");
}

function exactly(text: string): RegExp {
  return new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);
}

/** The browser sometimes does not answer a request to close; it then ends with this process. */
async function close(browser: Browser | undefined): Promise<void> {
  await Promise.race([browser?.close(), pause(CLOSING_MS, undefined, { ref: false })]);
}
