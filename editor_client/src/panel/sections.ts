// The sections of the context panel: their headings, and what fills an empty one.

import type { ContextPlace, ContextSection } from "../protocol.ts";

interface SectionText {
  readonly heading: string;
  /** A sentence that says what fills the section. */
  readonly filling: string;
  /** Whether the section needs a definition, or whether it can also be filled beside a document. */
  readonly ofDefinitions: boolean;
}

const TEXTS: Readonly<Record<ContextSection, SectionText>> = {
  query: {
    heading: "Found by the question",
    filling: "Passages that answer the question appear here.",
    ofDefinitions: false,
  },
  callers: {
    heading: "Called and used by",
    filling: "Indexed code that calls or uses this appears here.",
    ofDefinitions: true,
  },
  overrides: {
    heading: "Implementations and overrides",
    filling: "Indexed types and methods that implement or override this appear here.",
    ofDefinitions: true,
  },
  used: {
    heading: "Uses",
    filling: "Indexed code that this calls or uses appears here.",
    ofDefinitions: false,
  },
  tests: {
    heading: "Tests",
    filling: "Tests that call this, directly or through one other function, appear here.",
    ofDefinitions: true,
  },
  twins: {
    heading: "Counterparts",
    filling: "Files of the same name, such as those of another language or layer, appear here.",
    ofDefinitions: false,
  },
  documents: {
    heading: "Documents",
    filling: "Documents that name this or explain the same appear here.",
    ofDefinitions: false,
  },
  together: {
    heading: "Changed together",
    filling: "Files that many commits change together with this one appear here.",
    ofDefinitions: false,
  },
  similar: {
    heading: "Similar",
    filling: "Passages with a similar meaning appear here.",
    ofDefinitions: false,
  },
};
/** Beside a document, the code that it uses is the code that its text names and its examples show. */
const IN_DOCUMENTS: Readonly<Partial<Record<ContextSection, Partial<SectionText>>>> = {
  used: { heading: "Code it shows", filling: "Indexed code that this document names or shows appears here." },
};
const DOCUMENT = /(?:\.(?:adoc|asciidoc|markdown|md|mdx|org|rst|tex|txt)|(?:^|\/)readme)$/i;
const NAMES = Object.keys(TEXTS) as ContextSection[];

/** The section with the name; undefined if this version does not know it. */
export function sectionNamed(name: unknown): ContextSection | undefined {
  return NAMES.find((each) => each === name);
}

export function headingOf(section: ContextSection, place: Pick<ContextPlace, "path">): string {
  return textOf(section, place).heading;
}

/** A sentence that says what fills the section. */
export function fillingOf(section: ContextSection, place: Pick<ContextPlace, "path">): string {
  return textOf(section, place).filling;
}

/** The sections that a place could have besides those that are shown. */
export function emptySections(shown: readonly ContextSection[], place: ContextPlace): ContextSection[] {
  const isDefinition = place.symbol !== "" && !DOCUMENT.test(place.path);
  return NAMES.filter(
    (name) => name !== "query" && !shown.includes(name) && (isDefinition || !TEXTS[name].ofDefinitions),
  );
}

function textOf(section: ContextSection, { path }: Pick<ContextPlace, "path">): SectionText {
  return { ...TEXTS[section], ...(DOCUMENT.test(path) ? IN_DOCUMENTS[section] : {}) };
}
