// The setting `cairn.path`: the command that the user set, or what is wrong with it.

import { kindOf, isWholePath } from "./executable.ts";
import { FindingError } from "./found_server.ts";
import { pathsOf, type Surroundings } from "./surroundings.ts";
import { isInUntrustedFolder } from "./trust.ts";

const OR_EMPTY = "or empty the setting to have Cairn look for it.";

/** The absolute path of `value`; undefined if it is empty. Throws FindingError. */
export async function commandOfSetting(
  value: unknown,
  surroundings: Surroundings,
): Promise<string | undefined> {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") {
    throw new FindingError(
      `The setting cairn.path is not a text. Write the cairn command's path, ${OR_EMPTY}`,
    );
  }
  const written = value.trim();
  if (!written) return undefined;

  const { platform } = surroundings;
  const path = withHome(written, surroundings);
  const is = `The setting cairn.path is "${written}"`;
  if (!isWholePath(path, platform)) {
    const why = written.includes("${")
      ? "variables are not replaced in it"
      : "which is not an absolute path; it must start with " +
        (platform === "win32" ? "a drive, or ~ for your home folder" : "/, or ~ for your home folder");
    throw new FindingError(`${is}, ${why}. Write the whole path of the cairn command, ${OR_EMPTY}`);
  }
  switch (await kindOf(path, platform)) {
    case "missing":
      throw new FindingError(`${is}, but there is no such file. Correct the path, ${OR_EMPTY}`);
    case "folder":
      throw new FindingError(
        `${is}, which is a folder. Write the path of the cairn command in it, ${OR_EMPTY}`,
      );
    case "batch file":
      throw new FindingError(`${is}, which is a batch file. Write the path of cairn.exe, ${OR_EMPTY}`);
    case "not executable": {
      const remedy = platform === "win32" ? "Write the path of cairn.exe" : `Run chmod +x "${path}"`;
      throw new FindingError(`${is}, which is not an executable file. ${remedy}, ${OR_EMPTY}`);
    }
    case "executable":
  }
  if (await isInUntrustedFolder(path, surroundings)) {
    throw new FindingError(
      `${is}, which lies in a folder of this workspace. Trust the workspace, or name a command elsewhere.`,
    );
  }
  return path;
}

function withHome(path: string, { home, platform }: Surroundings): string {
  if (path === "~") return home;
  const rest = /^~[/\\](.*)$/.exec(path)?.[1];
  return rest === undefined || (platform !== "win32" && path[1] === "\\")
    ? path
    : pathsOf(platform).join(home, rest);
}
