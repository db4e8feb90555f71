// Executable files: checks a path, and searches the PATH.

import { constants } from "node:fs";
import { access, lstat, stat } from "node:fs/promises";

import { pathsOf, type Surroundings, variable } from "./surroundings.ts";
import { isInUntrustedFolder } from "./trust.ts";

/**
 * The extensions that Windows itself can start. Batch files need a shell, which would interpret their
 * arguments.
 */
const WINDOWS_PROGRAMS = [".exe", ".com"];

export type Kind = "executable" | "missing" | "folder" | "not executable" | "batch file";

/** Whether `path` can be started. */
export async function kindOf(path: string, platform: NodeJS.Platform): Promise<Kind> {
  // Python from the Microsoft Store is a reparse point, which Windows starts but cannot resolve.
  const found = await stat(path).catch(() => lstat(path).catch(() => undefined));
  if (!found) return "missing";
  if (found.isDirectory()) return "folder";
  if (platform === "win32") {
    const extension = pathsOf(platform).extname(path).toLowerCase();
    if (WINDOWS_PROGRAMS.includes(extension)) return "executable";
    return [".bat", ".cmd"].includes(extension) ? "batch file" : "not executable";
  }
  if (found.isSymbolicLink()) return "missing"; // The link is broken.
  if (!found.isFile()) return "not executable";
  const allowed = await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
  return allowed ? "executable" : "not executable";
}

export async function isExecutable(path: string, platform: NodeJS.Platform): Promise<boolean> {
  return (await kindOf(path, platform)) === "executable";
}

/** The folders of the PATH, without empty and relative entries, which depend on the current folder. */
export function pathFolders(surroundings: Pick<Surroundings, "env" | "platform">): string[] {
  const paths = pathsOf(surroundings.platform);
  const entries = (variable(surroundings, "PATH") ?? "").split(paths.delimiter);
  return entries
    .map((entry) => (surroundings.platform === "win32" ? entry.trim().replace(/^"(.*)"$/, "$1") : entry))
    .filter((entry) => isWholePath(entry, surroundings.platform));
}

/** Whether the path is absolute, on Windows with a drive: `\tools` depends on the current drive. */
export function isWholePath(path: string, platform: NodeJS.Platform): boolean {
  const paths = pathsOf(platform);
  return paths.isAbsolute(path) && (platform !== "win32" || paths.parse(path).root.length > 1);
}

/** The file names that `command` may mean. */
export function fileNames(command: string, surroundings: Pick<Surroundings, "env" | "platform">): string[] {
  if (surroundings.platform !== "win32") return [command];
  const extensions = (variable(surroundings, "PATHEXT") ?? "").toLowerCase().split(";");
  const wanted = WINDOWS_PROGRAMS.filter((program) => program === ".exe" || extensions.includes(program));
  return wanted.map((extension) => command + extension);
}

/** All executables called `command` on the PATH, in order, except those that must not be started. */
export async function onPath(command: string, surroundings: Surroundings): Promise<string[]> {
  const { platform, log } = surroundings;
  const found: string[] = [];
  for (const folder of pathFolders(surroundings)) {
    for (const name of fileNames(command, surroundings)) {
      const path = pathsOf(platform).join(folder, name);
      if (found.includes(path) || !(await isExecutable(path, platform))) continue;
      if (await isInUntrustedFolder(path, surroundings)) {
        log(`${path} is not used: it lies in this workspace, which is not trusted`);
      } else {
        found.push(path);
      }
    }
  }
  return found;
}
