// The kinds of code lenses that other extensions give, too.

import type { ContextSection } from "../protocol.ts";

/** A code lens of another extension, as far as it is resolved. */
export interface OtherLens {
  readonly command?: { readonly title: string; readonly command: string };
}

/** By what a lens says. A lens that runs a test is of another kind than one that counts tests. */
const TITLES: readonly (readonly [RegExp, ContextSection])[] = [
  [/^(\d+|no) (implementations?|implementors?|overrides?|subclass(es)?)\b/i, "overrides"],
  [/^(\d+|no) (references?|usages?|uses|callers?|calls)\b/i, "callers"],
  [/^(\d+|no) tests?\b/i, "tests"],
];
/** By what a lens does, because titles are translated. */
const COMMANDS: readonly (readonly [RegExp, ContextSection])[] = [
  [/implementations?$/i, "overrides"],
  [/references?$/i, "callers"],
];

/** The sections of Cairn's panel that the lenses of other extensions already announce. */
export function sectionsOf(lenses: readonly OtherLens[]): Set<ContextSection> {
  return new Set(lenses.flatMap(({ command }) => (command ? sectionOf(command) : [])));
}

function sectionOf({ title, command }: NonNullable<OtherLens["command"]>): ContextSection[] {
  const said = title.replace(/^\$\([\w-]+\)\s*/, ""); // an icon
  const found =
    TITLES.find(([pattern]) => pattern.test(said)) ?? COMMANDS.find(([pattern]) => pattern.test(command));
  return found ? [found[1]] : [];
}
