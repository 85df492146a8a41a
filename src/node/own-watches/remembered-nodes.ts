import { CODECS } from '../../client/api/codecs.ts';
import type { QueryState } from '../../client/snapshot/query-state.ts';
import type { SnapshotFolder } from '../../client/snapshot/snapshot-folder.ts';
import type { Change } from '../../filter/objects/change.ts';
import { ZONE_KEY } from '../../topology/policy/topology-keys.ts';

/** Names the file, as the key of a query names its file. */
const NAME = '/api/v1/nodes?looked-up';
/** So many Nodes are remembered, those whose zone was news last: some 600 KB. */
const MAX_NODES = 4096;

/**
 * The zones of Nodes that were looked up, on disk: a process that starts while the API server is unreachable decides by
 * them, as the one before it did. Of each Node there is only its name and the label of its zone, in JSON.
 */
export class RememberedNodes {
  /** By the name of a Node its zone, empty if it has none. */
  readonly zones = new Map<string, string>();
  readonly #folder: SnapshotFolder;
  readonly #state: QueryState;
  readonly #onSlow: () => void;
  #reading: Promise<void> | undefined;
  /** Whether the API server has said anything. */
  #isLive = false;

  /** @param onSlow called if the disk is slow */
  constructor(folder: SnapshotFolder, onSlow: () => void) {
    this.#folder = folder;
    this.#onSlow = onSlow;
    this.#state = folder.writer.open(NAME);
  }

  /**
   * Reads what is on disk, once, however long that takes. Never rejects. While the API server is unreachable, no Node
   * is looked up before slices come from disk. By then the process that this one replaces has written all it knows.
   */
  async read(): Promise<void> {
    this.#reading ??= this.#adopt();
    await this.#reading;
  }

  /**
   * Remembers what a look-up of names has found: the zones of the Nodes that exist. If the disk has not been
   * {@link read} by then, nothing of it is used: each start looks up again what slices name.
   */
  update(
    names: readonly string[],
    found: ReadonlyMap<string, string>,
    resourceVersion: string,
  ): void {
    this.#isLive = true;
    const added = names.flatMap((name) => this.#set(name, found.get(name)));
    const oldest = [...this.zones.keys()].slice(0, Math.max(0, this.zones.size - MAX_NODES));
    const changes = added.concat(oldest.flatMap((name) => this.#set(name, undefined)));
    if (changes.length > 0) this.#state.update(changes, resourceVersion);
  }

  close(): void {
    this.#folder.writer.closeState(this.#state);
  }

  async #adopt(): Promise<void> {
    const stored = await this.#folder.loadPatiently(this.#state, this.#onSlow);
    if (stored === undefined || this.#isLive) return;
    try {
      const nodes = stored.objects.map((object) => CODECS.json.partialMetadata(object));
      const changes = nodes.flatMap(({ name, labels }) =>
        this.#set(name, labels.get(ZONE_KEY) ?? ''),
      );
      this.#state.adopt(changes, stored);
    } catch (error) {
      await this.#folder.setAside(NAME, error as Error);
    }
  }

  /** @param zone undefined: it is forgotten */
  #set(name: string, zone: string | undefined): Change[] {
    if (this.zones.get(name) === zone) return [];
    this.zones.delete(name);
    if (zone === undefined) return [{ type: 'DELETED', key: name }];
    this.zones.set(name, zone);
    const labels = zone === '' ? {} : { [ZONE_KEY]: zone };
    const object = Buffer.from(JSON.stringify({ metadata: { name, labels } }));
    return [{ type: 'MODIFIED', key: name, facts: CODECS.json.meta(object), object }];
  }
}
