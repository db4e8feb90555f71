// The places where a server may be, one after the other.

import { isExecutable, onPath } from "./executable.ts";
import type { FoundServer } from "./found_server.ts";
import { commandOfSetting } from "./path_setting.ts";
import { usableVersion } from "./server_version.ts";
import { pathsOf, type Surroundings } from "./surroundings.ts";
import { isInUntrustedFolder } from "./trust.ts";

export interface Places {
  /** What is set as `cairn.path`. */
  readonly setting: unknown;
  /** The prefixes of the Python environments that the user chose. */
  readonly pythonPrefixes: () => Promise<readonly string[]>;
  /** The command of the environment that the extension made, where that is complete. */
  readonly managed: () => Promise<string | undefined>;
}

/** The first server there is; undefined where there is none. Raises FindingError where the setting is wrong. */
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
  // Trusted like the extension itself, beside which it lies, even where a workspace includes the home folder.
  const managed = await places.managed();
  return managed === undefined ? undefined : { command: managed, from: "managed" };
}

/** Where an environment has a program that was installed into it. */
export function commandIn(prefix: string, platform: NodeJS.Platform, program = "cairn"): string {
  const paths = pathsOf(platform);
  return platform === "win32"
    ? paths.join(prefix, "Scripts", `${program}.exe`)
    : paths.join(prefix, "bin", program);
}
