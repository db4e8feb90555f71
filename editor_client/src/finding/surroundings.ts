// What finding and installing the server depend on, apart from files: the machine, the user and the workspace.

import { posix, type PlatformPath, win32 } from "node:path";

export interface Surroundings {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  /** Whether the user trusts the workspace. */
  readonly trusted: boolean;
  /** Absolute paths of the workspace's folders. */
  readonly folders: readonly string[];
  readonly log: (line: string) => void;
}

export function pathsOf(platform: NodeJS.Platform): PlatformPath {
  return platform === "win32" ? win32 : posix;
}

/** The variable `name`; Windows does not tell case apart (`Path`), and a copy of its environment does. */
export function variable(
  { env, platform }: Pick<Surroundings, "env" | "platform">,
  name: string,
): string | undefined {
  if (platform !== "win32") return env[name];
  return Object.entries(env).find(([key]) => key.toUpperCase() === name)?.[1];
}

/** Where they would be taken from is the workspace, a terminal or another Python. */
const PYTHON_VARIABLES = [
  "PYTHONPATH",
  "PYTHONHOME",
  "PYTHONSTARTUP",
  "PYTHONUSERBASE",
  "PYTHONEXECUTABLE",
  "PYTHONINSPECT",
  "VIRTUAL_ENV",
  "__PYVENV_LAUNCHER__",
];

/** The environment for a Python program that is to load nothing but what was installed with it. */
export function pythonEnvironment({ env }: Pick<Surroundings, "env">): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !PYTHON_VARIABLES.includes(name.toUpperCase()));
  return { ...Object.fromEntries(kept), PYTHONSAFEPATH: "1" };
}
