// The code lenses of the server: those of a kind that another extension gives are left out, and a click on
// one is reported.

import { type CodeLens, commands, type Disposable, EventEmitter, type TextDocument } from "vscode";
import { type BaseLanguageClient, CodeLensRequest, type Middleware } from "vscode-languageclient";

import type { ContextSection, Position } from "../protocol.ts";
import { sectionsOf } from "./lens_kinds.ts";

/** The server's command for a click on a lens. */
const SHOW = "cairn.show";
/** An extension gives one or two kinds for each definition, so its first lenses have all of them. */
const LOOKED_AT = 12;
/** The editor requests lenses again whenever any extension has other ones; mostly nothing new is found. */
const RECENT_MS = 5000;

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

/** What other extensions give for a document. */
class Others {
  readonly #document: TextDocument;
  readonly #refresh: () => void;
  #sections = new Set<ContextSection>();
  #lookedAt: number | undefined;
  /** How often the server's lenses were requested during the query that runs. */
  #query: { requests: number } | undefined;

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

  /** Look again, unless that was done lately. While the user types, lenses must not come and go. */
  async look(): Promise<void> {
    const isKnown = this.#lookedAt !== undefined;
    const isRecent = Date.now() - (this.#lookedAt ?? 0) < RECENT_MS;
    if (this.#query || isRecent || (isKnown && this.#document.isDirty)) return;
    const query = (this.#query = { requests: 0 });
    try {
      const lenses = await commands.executeCommand<CodeLens[]>(
        "vscode.executeCodeLensProvider",
        this.#document.uri,
        LOOKED_AT,
      );
      this.#sections = sectionsOf(lenses);
    } finally {
      this.#query = undefined;
      this.#lookedAt = Date.now();
    }
    // One of them got the query's answer or the former sections: which one is not known.
    if (query.requests > 1) this.#refresh();
  }
}

/** The section that a lens opens, which is the last of its data. It is known before the lens is resolved. */
function isOf(lens: CodeLens, sections: ReadonlySet<string>): boolean {
  const { data } = lens as CodeLens & { readonly data: readonly unknown[] };
  return sections.has(String(data.at(-1)));
}
