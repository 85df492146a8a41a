import { CODECS } from '../../client/api/codecs.ts';
import type { QueryState } from '../../client/snapshot/query-state.ts';
import type { SnapshotFolder } from '../../client/snapshot/snapshot-folder.ts';
import type { PartialObjectMetadata } from '../../filter/codec/codec.ts';

/** Names the file, as the key of a query names its file. */
const NAME = '/last-own-node';
/** An object that comes from no API server has no version. */
const VERSION = '1';

type Seen = Pick<PartialObjectMetadata, 'uid' | 'labels'>;

/**
 * The labels of the Node of this name before the one that exists, also after a restart. The snapshot of the own Node
 * does not have them: it shrinks when the Node is deleted, as kube-proxy must not be shown a Node that is gone. So a
 * file of its own has the uid and the labels of the Node that existed last, in JSON.
 */
export class LastOwnNode {
  readonly #folder: SnapshotFolder | undefined;
  readonly #state: QueryState | undefined;
  #current: Seen | undefined;
  #written = '';
  #lastLabels: ReadonlyMap<string, string> | undefined;
  /** Resolves when the disk has been read, which may take long. Never rejects. */
  readonly read: Promise<void>;

  /** @param folder undefined: nothing is kept on disk */
  constructor(folder: SnapshotFolder | undefined) {
    this.#folder = folder;
    this.#state = folder?.writer.open(NAME);
    this.read = this.#read();
  }

  /** Undefined: none is known. */
  get labels(): ReadonlyMap<string, string> | undefined {
    return this.#lastLabels;
  }

  /** The Node exists. */
  update(node: PartialObjectMetadata): void {
    const { name, uid, labels } = node;
    this.#compare(this.#current, node);
    this.#current = { uid, labels };
    const json = JSON.stringify({ metadata: { name, uid, labels: Object.fromEntries(labels) } });
    if (json === this.#written) return;
    this.#written = json;
    const object = Buffer.from(json);
    const facts = CODECS.json.meta(object);
    this.#state?.update([{ type: 'MODIFIED', key: name, facts, object }], VERSION);
  }

  close(): void {
    if (this.#state !== undefined) this.#folder?.writer.closeState(this.#state);
  }

  #compare(last: Seen | undefined, now: Seen | undefined): void {
    if (last !== undefined && now !== undefined && last.uid !== now.uid) {
      this.#lastLabels = last.labels;
    }
  }

  async #read(): Promise<void> {
    const [folder, state] = [this.#folder, this.#state];
    if (folder === undefined || state === undefined) return;
    // Nothing waits for a slow disk.
    const stored = await folder.loadPatiently(state, () => {});
    try {
      const [last] = stored?.objects.map((object) => CODECS.json.partialMetadata(object)) ?? [];
      // A Node that was deleted in the life of this process is nearer.
      if (this.#lastLabels === undefined) this.#compare(last, this.#current);
      this.#current ??= last;
    } catch (error) {
      await folder.setAside(NAME, error as Error);
    }
  }
}
