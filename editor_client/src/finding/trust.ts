// In an untrusted workspace, nothing in its folders may be started.

import { realpath } from "node:fs/promises";

import { pathsOf, type Surroundings } from "./surroundings.ts";

/** Whether `path` is `folder` or in it, judged by names only. */
export function isInside(path: string, folder: string, platform: NodeJS.Platform): boolean {
  const paths = pathsOf(platform);
  const between = paths.relative(comparable(folder, platform), comparable(path, platform));
  return between !== ".." && !between.startsWith(`..${paths.sep}`) && !paths.isAbsolute(between);
}

/**
 * Whether `path` is in a folder of an untrusted workspace, as written or after following links. A link in
 * such a folder is not trusted either, and a link into it would start a file there.
 */
export async function isInUntrustedFolder(path: string, surroundings: Surroundings): Promise<boolean> {
  if (surroundings.trusted) return false;
  const names = await bothNames(path);
  for (const folder of surroundings.folders) {
    for (const folderName of await bothNames(folder)) {
      if (names.some((name) => isInside(name, folderName, surroundings.platform))) return true;
    }
  }
  return false;
}

async function bothNames(path: string): Promise<string[]> {
  return [path, await realpath(path).catch(() => path)];
}

/** On systems that usually ignore case, names that differ only in case count as equal. */
function comparable(path: string, platform: NodeJS.Platform): string {
  return platform === "linux" ? path : path.normalize("NFC").toLowerCase();
}
