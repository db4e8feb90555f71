// What may be started while the workspace is not trusted: nothing that lies in one of its folders.

import { realpath } from "node:fs/promises";

import { pathsOf, type Surroundings } from "./surroundings.ts";

/** Whether `path` is `folder` or lies in it, by their names alone. */
export function isInside(path: string, folder: string, platform: NodeJS.Platform): boolean {
  const paths = pathsOf(platform);
  const between = paths.relative(comparable(folder, platform), comparable(path, platform));
  return between !== ".." && !between.startsWith(`..${paths.sep}`) && !paths.isAbsolute(between);
}

/**
 * Whether `path` lies in a folder of a workspace that is not trusted, as it is written or where its links lead: a link
 * in such a folder is the workspace's word, and one into it would start what lies there.
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

/** Where file systems mostly ignore case, names that differ in case only are the same, to be safe. */
function comparable(path: string, platform: NodeJS.Platform): string {
  return platform === "linux" ? path : path.normalize("NFC").toLowerCase();
}
