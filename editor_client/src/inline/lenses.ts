// The code lenses of the server: those of a kind that another extension gives are left out, and a click on
// one is reported.

import { setTimeout as pause } from "node:timers/promises";

import { type CodeLens, commands, type Disposable, EventEmitter, type TextDocument } from "vscode";
import { type BaseLanguageClient, CodeLensRequest, type Middleware } from "vscode-languageclient";

import type { ContextSection, Position } from "../protocol.ts";
import { sectionsOf } from "./lens_kinds.ts";

/** The server's command for a click on a lens. */
const SHOW = "cairn.show";
/** An extension gives one or two kinds for each definition, so its first lenses have all of them. */
const LOOKED_AT = 12;
/** For the query of other extensions, which wait for their servers. It may itself be what waits. */
const PATIENCE_MS = 5000;

/** The argument of the server's command. */
export interface Shown {
  readonly uri: string;
  readonly position: Position;
  readonly section: ContextSection;
}

export class Lenses implements Disposable {
  readonly #client: () => BaseLanguageClient | undefined;
  readonly #showed = new EventEmitter<Shown>();
  readonly #others = new WeakMap<TextDocument, Others>();

  readonly onShow = this.#showed.event;

  readonly middleware: Middleware = {
    provideCodeLenses: async (document, token, next) => {
      const others = this.#of(document);
      if (others.isOwnQuery()) return [];
      const [lenses] = await Promise.all([next(document, token), others.look()]);
      return lenses?.filter((lens) => !isOf(lens, others.sections));
    },
    // The client registers the server's commands in the editor, so the extension cannot.
    executeCommand: (command, args, next) => {
      if (command !== SHOW) return next(command, args) as Promise<unknown>;
      const [shown] = args as [Shown];
      this.#showed.fire(shown);
      return undefined;
    },
  };

  constructor(client: () => BaseLanguageClient | undefined) {
    this.#client = client;
  }

  dispose(): void {
    this.#showed.dispose();
  }

  #of(document: TextDocument): Others {
    const others =
      this.#others.get(document) ??
      new Others(document, () => {
        const feature = this.#client()?.getFeature(CodeLensRequest.method);
        feature?.getProvider(document)?.onDidChangeCodeLensEmitter.fire();
      });
    this.#others.set(document, others);
    return others;
  }
}

interface Query {
  /** How often the server's lenses were requested meanwhile. */
  requests: number;
  readonly settled: Promise<void>;
}

/** What other extensions give for a document. */
class Others {
  readonly #document: TextDocument;
  readonly #refresh: () => void;
  #sections = new Set<ContextSection>();
  #isKnown = false;
  #query: Query | undefined;

  constructor(document: TextDocument, refresh: () => void) {
    this.#document = document;
    this.#refresh = refresh;
  }

  get sections(): ReadonlySet<ContextSection> {
    return this.#sections;
  }

  /** Whether a request comes from the query itself, which asks all providers. Call it once for a request. */
  isOwnQuery(): boolean {
    return this.#query !== undefined && ++this.#query.requests === 1;
  }

  /** Look again, because the editor also requests lenses when another extension has other ones. */
  async look(): Promise<void> {
    if (this.#query) return Promise.race([this.#query.settled, pause(PATIENCE_MS)]);
    // While the user types, lenses must not come and go.
    if (this.#isKnown && this.#document.isDirty) return;
    const query = (this.#query = { requests: 0, settled: this.#ask() });
    await query.settled;
    // If another request came first, it got the answer that was meant for the query.
    if (query.requests > 1) this.#refresh();
  }

  async #ask(): Promise<void> {
    const { uri } = this.#document;
    try {
      const command = "vscode.executeCodeLensProvider";
      this.#sections = sectionsOf(await commands.executeCommand<CodeLens[]>(command, uri, LOOKED_AT));
    } finally {
      this.#query = undefined;
      this.#isKnown = true;
    }
  }
}

/** Whether a lens opens one of the sections, also if the lens is not resolved yet. */
function isOf(lens: CodeLens, sections: ReadonlySet<string>): boolean {
  const { data, command } = lens as CodeLens & { readonly data?: readonly unknown[] };
  const [shown] = (command?.arguments ?? []) as Shown[];
  return sections.has(shown?.section ?? String(data?.at(-1)));
}
