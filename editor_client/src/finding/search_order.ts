// The places to look for a server, in order.

import { isExecutable, onPath } from "./executable.ts";
import type { FoundServer } from "./found_server.ts";
import { commandOfSetting } from "./path_setting.ts";
import { usableVersion } from "./server_version.ts";
import { pathsOf, type Surroundings } from "./surroundings.ts";
import { isInUntrustedFolder } from "./trust.ts";

export interface Places {
  /** The value of `cairn.path`. */
  readonly setting: unknown;
  /** The prefixes of the Python environments that the user chose. */
  readonly pythonPrefixes: () => Promise<readonly string[]>;
  /** The command in the extension's own environment, if that is complete. */
  readonly managed: () => Promise<string | undefined>;
}

/** The first server; undefined if there is none. Throws FindingError if the setting is wrong. */
export async function findInOrder(
  places: Places,
  surroundings: Surroundings,
): Promise<FoundServer | undefined> {
  const named = await commandOfSetting(places.setting, surroundings);
  if (named !== undefined) return { command: named, from: "setting" };

  for (const prefix of await places.pythonPrefixes()) {
    const command = commandIn(prefix, surroundings.platform);
    if (!(await isExecutable(command, surroundings.platform))) continue;
    if (await isInUntrustedFolder(command, surroundings)) {
      surroundings.log(`${command} is not used: it lies in this workspace, which is not trusted`);
      continue;
    }
    const version = await usableVersion(command, surroundings);
    if (version !== undefined) return { command, from: "python", version };
  }
  for (const command of await onPath("cairn", surroundings)) {
    const version = await usableVersion(command, surroundings);
    if (version !== undefined) return { command, from: "path", version };
  }
  // The extension's own storage is trusted, even if a workspace contains the home folder.
  const managed = await places.managed();
  return managed === undefined ? undefined : { command: managed, from: "managed" };
}

/** The path of an installed program in an environment. */
export function commandIn(prefix: string, platform: NodeJS.Platform, program = "cairn"): string {
  const paths = pathsOf(platform);
  return platform === "win32"
    ? paths.join(prefix, "Scripts", `${program}.exe`)
    : paths.join(prefix, "bin", program);
}
