// The messages between the context panel's webview and the extension, and the check of those from the
// webview.

import type { Folds as SectionFolds } from "../folds.ts";
import type { ContextSection } from "../protocol.ts";
import { sectionNamed } from "./sections.ts";

/** A part of a snippet's line; `marked` if it is a word that relates the passage. */
export interface Piece {
  readonly text: string;
  readonly marked: boolean;
}

export interface SnippetLine {
  readonly pieces: readonly Piece[];
  /** Whether lines before it are omitted. */
  readonly afterGap: boolean;
}

/** A passage to draw. */
export interface PassageContent {
  /** Its index in the shown answer. */
  readonly index: number;
  /** The same for the same passage in another answer, so that it keeps the focus. */
  readonly id: string;
  readonly title: string;
  readonly file: string;
  /** The line to open, 1-based. */
  readonly line: number;
  /** "" for a file at the top of the folder. */
  readonly directory: string;
  /** The workspace folder's name, if several are open. */
  readonly folder: string;
  /** The strongest reasons, in one line. */
  readonly reasons: string;
  /** All reasons, the strongest first. */
  readonly why: readonly Reason[];
  readonly snippet: readonly SnippetLine[];
  /** The text for screen readers. */
  readonly label: string;
  readonly tooltip: string;
}

/** A reason why a passage is shown. */
export interface Reason {
  readonly words: string;
  /** How the score was computed; "" if the reason has none. */
  readonly score: string;
}

/** The sections of which the editor's references view can show everything. */
export const LISTED = ["callers", "tests"] as const;
export type Listed = (typeof LISTED)[number];

export interface SectionContent {
  readonly name: ContextSection;
  readonly heading: string;
  readonly passages: readonly PassageContent[];
  /** The label of the link that lists all of them; "" if there is no such list. */
  readonly all: string;
}

/** The sections without passages, as one section at the end. */
export interface EmptySection {
  readonly heading: string;
  /** A sentence that says what fills the section. */
  readonly filling: string;
}

/** The key of the section that lists the empty ones. */
export const EMPTY = "empty";
export type Foldable = ContextSection | typeof EMPTY;
export type Folds = SectionFolds<Foldable>;

/** The place that the panel shows. */
export interface PlaceContent {
  readonly title: string;
  /** The file name with the lines. */
  readonly file: string;
  readonly directory: string;
  /** The path with the lines. */
  readonly where: string;
}

/** The action of a button in a message. The extension maps it to a command. */
export const ACTIONS = ["install", "restart", "log", "refresh"] as const;
export type Action = (typeof ACTIONS)[number];

/** The whole content. Passages and message may be absent; the key is always present. */
export interface Content {
  /** Identifies the content: equal content is not drawn again, and clicks on other content are ignored. */
  readonly key: string;
  readonly place: PlaceContent | undefined;
  /** Undefined if the panel is not pinned. */
  readonly pinned: { readonly canGoBack: boolean; readonly canGoForward: boolean } | undefined;
  /** The progress of indexing, or that the file is not indexed, or else the commit of a team's index. */
  readonly notice: string;
  readonly sections: readonly SectionContent[];
  readonly empty: readonly EmptySection[];
  /** A message in place of passages. */
  readonly message: string;
  readonly actions: readonly { readonly action: Action; readonly label: string }[];
  /** The announcement after drawing. */
  readonly announcement: string;
}

export type ToWebview =
  | { readonly type: "draw"; readonly content: Content; readonly folds: Folds }
  | { readonly type: "announce"; readonly text: string }
  | Reveal;

/** Unfolds a section and moves the focus to it. If it is empty, `absent` says so, with the link `all`. */
export interface Reveal {
  readonly type: "reveal";
  readonly section: ContextSection;
  readonly absent: string;
  readonly all: string;
}

/** Messages without other fields. */
const SIMPLE = [
  "ready",
  "focused",
  "blurred",
  "pin",
  "unpin",
  "back",
  "forward",
  "refresh",
  "copyPrompt",
  "openPlace",
] as const;

export type FromWebview =
  | { readonly type: (typeof SIMPLE)[number] }
  | { readonly type: "open"; readonly key: string; readonly index: number; readonly beside: boolean }
  | { readonly type: "copy"; readonly key: string; readonly index: number }
  | { readonly type: "fold"; readonly section: Foldable; readonly folded: boolean }
  | { readonly type: "all"; readonly section: Listed }
  | { readonly type: "run"; readonly action: Action };

/** The message; undefined if it is invalid. */
export function fromWebview(given: unknown): FromWebview | undefined {
  if (typeof given !== "object" || given === null) return undefined;
  const { type, key, index, beside, section, folded, action } = given as Record<string, unknown>;
  const simple = SIMPLE.find((each) => each === type);
  if (simple) return { type: simple };
  switch (type) {
    case "open":
      return isKey(key) && isIndex(index) && typeof beside === "boolean"
        ? { type, key, index, beside }
        : undefined;
    case "copy":
      return isKey(key) && isIndex(index) ? { type, key, index } : undefined;
    case "fold": {
      const name = section === EMPTY ? EMPTY : sectionNamed(section);
      return name && typeof folded === "boolean" ? { type, section: name, folded } : undefined;
    }
    case "all": {
      const listed = LISTED.find((each) => each === section);
      return listed && { type, section: listed };
    }
    case "run": {
      const known = ACTIONS.find((each) => each === action);
      return known && { type, action: known };
    }
    default:
      return undefined;
  }
}

function isKey(given: unknown): given is string {
  return typeof given === "string";
}

function isIndex(given: unknown): given is number {
  return typeof given === "number" && Number.isSafeInteger(given) && given >= 0;
}
