// The sections of the context panel: their headings, and what fills an empty one.

import type { ContextPlace, ContextSection } from "../protocol.ts";

interface SectionText {
  readonly heading: string;
  /** The passages that would be in the section. */
  readonly filledBy: string;
  /** Whether the section needs a definition, or whether it can also be filled beside a document. */
  readonly ofDefinitions: boolean;
}

const TEXTS: Readonly<Record<ContextSection, SectionText>> = {
  query: {
    heading: "Found by the question",
    filledBy: "Passages that answer the question",
    ofDefinitions: false,
  },
  callers: {
    heading: "Called and used by",
    filledBy: "Indexed code that calls or uses this",
    ofDefinitions: true,
  },
  overrides: {
    heading: "Implementations and overrides",
    filledBy: "Indexed types and methods that implement or override this",
    ofDefinitions: true,
  },
  used: {
    heading: "Uses",
    filledBy: "Indexed code that this calls or uses",
    ofDefinitions: false,
  },
  tests: {
    heading: "Tests",
    filledBy: "Tests that call this, directly or through one other function,",
    ofDefinitions: true,
  },
  twins: {
    heading: "Counterparts",
    filledBy: "Files of the same name, such as those of another language or layer,",
    ofDefinitions: false,
  },
  documents: {
    heading: "Documents",
    filledBy: "Documents that name this or explain the same",
    ofDefinitions: false,
  },
  together: {
    heading: "Changed together",
    filledBy: "Files that many commits change together with this one",
    ofDefinitions: false,
  },
  similar: {
    heading: "Similar",
    filledBy: "Passages with a similar meaning",
    ofDefinitions: false,
  },
};
/** Beside a document, the code that it uses is the code that its text names and its examples show. */
const IN_DOCUMENTS: Readonly<Partial<Record<ContextSection, Partial<SectionText>>>> = {
  used: { heading: "Code it shows", filledBy: "Indexed code that this document names or shows" },
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
  return `${textOf(section, place).filledBy} appear here.`;
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
