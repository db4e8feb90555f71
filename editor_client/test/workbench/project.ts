// A project for tests: a temporary git repository with a part of Cairn's server and documents.

import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

const execute = promisify(execFile);
const REPOSITORY = join(import.meta.dirname, "..", "..", "..");
/** Indexed in a second, so that tests need not wait. */
const PARTS = [
  "server/cairn/operations",
  "server/cairn/index/indexing",
  "server/cairn/paths.py",
  "docs",
  "README.md",
];
/** Enough to index for some seconds on any machine. */
export const LARGE = ["server/cairn", "tests", "benchmarks", "docs"];
const AUTHOR = ["-c", "user.name=Test", "-c", "user.email=test@example.org"];

export class Project {
  readonly folder: string;
  readonly #parent: string;

  private constructor(parent: string, folder: string) {
    this.#parent = parent;
    this.folder = folder;
  }

  /** With the given files by their paths, or else with parts of Cairn's. */
  static async make(files?: Readonly<Record<string, string>>, parts = PARTS): Promise<Project> {
    const parent = await realpath(await mkdtemp(join(tmpdir(), "cairn-project-")));
    const folder = join(parent, "cairn");
    for (const [path, text] of Object.entries(files ?? {})) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    for (const part of files ? [] : parts) {
      const filter = (path: string) => basename(path) !== "__pycache__";
      await cp(join(REPOSITORY, part), join(folder, part), { recursive: true, filter });
    }
    const git = (...args: string[]) => execute("git", [...AUTHOR, ...args], { cwd: folder });
    await git("init", "--quiet", "--initial-branch=main");
    await git("add", ".");
    await git("commit", "--quiet", "-m", "The project as it is");
    return new Project(parent, folder);
  }

  read(path: string): Promise<string> {
    return readFile(join(this.folder, path), "utf8");
  }

  /** Put an executable script into it; its path. */
  async script(path: string, text: string): Promise<string> {
    const file = join(this.folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return file;
  }

  /** Set something for everybody who opens it. */
  async set(settings: Readonly<Record<string, unknown>>): Promise<void> {
    const file = join(this.folder, ".vscode", "settings.json");
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, JSON.stringify(settings));
  }

  /** The 1-based line of the file on disk in which the text first stands. */
  async lineOf(path: string, text: string): Promise<number> {
    const line = (await this.read(path)).split("\n").findIndex((each) => each.includes(text));
    if (line < 0) throw new Error(`${path} does not hold ${text}`);
    return line + 1;
  }

  /** Whether a Python file defines the name. */
  async defines(name: string): Promise<boolean> {
    const pattern = `^ *(def|class) ${name}\\b|^ *${name}\\b.*=`;
    const { stdout } = await execute("git", ["grep", "-lE", pattern, "--", "*.py"], { cwd: this.folder });
    return stdout !== "";
  }

  remove(): Promise<void> {
    return rm(this.#parent, { recursive: true, force: true, maxRetries: 5 });
  }
}
