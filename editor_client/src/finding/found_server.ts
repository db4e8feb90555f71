// What finding the server ends with: a command that can be started, or an error that says what to do.

/** A server that can be started. */
export interface FoundServer {
  /** Absolute path of an executable. */
  readonly command: string;
  /** Which rule found it, for the log and the status. */
  readonly from: "setting" | "python" | "path" | "managed";
  /** What it said its version is, where it was asked; a server that the user named is not. */
  readonly version?: string;
}

/** The setting is wrong; the message says what to do. */
export class FindingError extends Error {}
