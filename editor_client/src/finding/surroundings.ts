// The machine, the user and the workspace, on which finding and installing depend.

import { posix, type PlatformPath, win32 } from "node:path";

export interface Surroundings {
  readonly platform: NodeJS.Platform;
  readonly env: NodeJS.ProcessEnv;
  readonly home: string;
  /** Whether the user trusts the workspace. */
  readonly trusted: boolean;
  /** The absolute paths of the workspace's folders. */
  readonly folders: readonly string[];
  readonly log: (line: string) => void;
}

export function pathsOf(platform: NodeJS.Platform): PlatformPath {
  return platform === "win32" ? win32 : posix;
}

/** The value of a variable. On Windows names ignore case (`Path`), but a copy of the environment does not. */
export function variable(
  { env, platform }: Pick<Surroundings, "env" | "platform">,
  name: string,
): string | undefined {
  if (platform !== "win32") return env[name];
  return Object.entries(env).find(([key]) => key.toUpperCase() === name)?.[1];
}

/** Variables that would load code from the workspace, a terminal or another Python. */
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

/** The environment for a Python program that must load only its own packages. */
export function pythonEnvironment({ env }: Pick<Surroundings, "env">): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !PYTHON_VARIABLES.includes(name.toUpperCase()));
  return { ...Object.fromEntries(kept), PYTHONSAFEPATH: "1" };
}
