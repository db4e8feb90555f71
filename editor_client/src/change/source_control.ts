// The state of source control, as the editor's git extension tells it. Without that extension, there is none.

import { Disposable, type Event, EventEmitter, extensions, type Uri } from "vscode";

/** The part of the git extension's interface that is used here. */
interface GitExtension {
  readonly enabled: boolean;
  readonly onDidChangeEnablement: Event<boolean>;
  getAPI(version: 1): Git;
}

interface Git {
  readonly repositories: readonly Repository[];
  readonly onDidOpenRepository: Event<Repository>;
  readonly onDidCloseRepository: Event<Repository>;
  getRepository(uri: Uri): Repository | null;
  toGitUri(uri: Uri, ref: string): Uri;
}

interface Repository {
  readonly state: RepositoryState;
  getRefs(query: { sort?: "committerdate" }): Promise<readonly Reference[]>;
  log(options: { maxEntries: number }): Promise<readonly Commit[]>;
}

interface RepositoryState {
  readonly HEAD: { readonly name?: string; readonly commit?: string } | undefined;
  readonly mergeChanges: readonly Change[];
  readonly indexChanges: readonly Change[];
  readonly workingTreeChanges: readonly Change[];
  readonly untrackedChanges?: readonly Change[];
  readonly onDidChange: Event<void>;
}

interface Change {
  readonly uri: Uri;
  readonly status: number;
}

/** A branch (0), a branch of a remote (1) or a tag (2). */
export interface Reference {
  readonly type: 0 | 1 | 2;
  readonly name?: string;
  readonly commit?: string;
}

export interface Commit {
  readonly hash: string;
  readonly message: string;
}

const EXTENSION = "vscode.git";
const COMMITS = 30;

export class SourceControl implements Disposable {
  readonly #changed = new EventEmitter<void>();
  readonly #listening: Disposable[] = [];
  #git: Git | undefined;
  /** What is known to have changed. */
  #state = "";
  #connected: Promise<void> | undefined;

  /** Fires when other files are changed or staged, and when the commit is another one. */
  readonly onDidChange = this.#changed.event;

  dispose(): void {
    Disposable.from(this.#changed, ...this.#listening).dispose();
  }

  /** Begin to listen to the git extension, if there is one and it is enabled. */
  connect(): Promise<void> {
    return (this.#connected ??= this.#connect());
  }

  /** The branches and tags, the latest first, and the latest commits of a folder. */
  async history(folder: Uri): Promise<{ references: readonly Reference[]; commits: readonly Commit[] }> {
    const repository = this.#git?.getRepository(folder);
    if (!repository) return { references: [], commits: [] };
    const [references, commits] = await Promise.all([
      repository.getRefs({ sort: "committerdate" }),
      // A repository without commits has no log.
      repository.log({ maxEntries: COMMITS }).catch(() => []),
    ]);
    return { references, commits };
  }

  /** A file as it was in a commit; the file itself if the git extension does not know it. */
  fileIn(uri: Uri, commit: string): Uri {
    return commit && this.#git?.getRepository(uri) ? this.#git.toGitUri(uri, commit) : uri;
  }

  async #connect(): Promise<void> {
    const extension = extensions.getExtension<GitExtension>(EXTENSION);
    const exported = await extension?.activate();
    if (!exported) return;
    this.#listening.push(
      exported.onDidChangeEnablement(() => {
        this.#listen(exported);
      }),
    );
    this.#listen(exported);
  }

  #listen(exported: GitExtension): void {
    if (!exported.enabled || this.#git) return;
    const git = (this.#git = exported.getAPI(1));
    const listen = ({ state }: Repository) => {
      this.#listening.push(
        state.onDidChange(() => {
          this.#compare();
        }),
      );
      this.#compare();
    };
    git.repositories.forEach(listen);
    this.#listening.push(
      git.onDidOpenRepository(listen),
      git.onDidCloseRepository(() => {
        this.#compare();
      }),
    );
  }

  /** The git extension reports each time that it has looked, whether or not something is different. */
  #compare(): void {
    const state = JSON.stringify(this.#git?.repositories.map(({ state }) => summary(state)));
    if (state === this.#state) return;
    this.#state = state;
    this.#changed.fire();
  }
}

function summary(state: RepositoryState): unknown[] {
  const { mergeChanges, indexChanges, workingTreeChanges, untrackedChanges = [] } = state;
  const changes = [mergeChanges, indexChanges, workingTreeChanges, untrackedChanges];
  const files = changes.map((group) => group.map(({ uri, status }) => `${status} ${uri.path}`));
  return [state.HEAD?.name, state.HEAD?.commit, ...files];
}
