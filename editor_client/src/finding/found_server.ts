// The result of finding the server: a command, or an error that says what to do.

/** A command that starts the server. */
export interface FoundServer {
  /** The absolute path of the executable. */
  readonly command: string;
  /** The rule that found it, for the log and the status. */
  readonly from: "setting" | "python" | "path" | "managed";
  /** Its version, if known; it is not checked for a command that the user set. */
  readonly version?: string;
}

/** The setting is wrong; the message says what to do. */
export class FindingError extends Error {}
