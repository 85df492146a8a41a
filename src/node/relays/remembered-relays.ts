import { isIP } from 'node:net';
import { CODECS } from '../../client/api/codecs.ts';
import type { QueryState } from '../../client/snapshot/query-state.ts';
import type { SnapshotFolder } from '../../client/snapshot/snapshot-folder.ts';
import type { Change } from '../../filter/objects/change.ts';
import { type Address, addressText } from '../../util/address.ts';
import { MAX_RELAYS } from './select-relays.ts';

/** Objects that come from no API server have no version. */
const VERSION = '1';
/** No address begins so. */
const BOOT = 'boot/';
const NOTHING: Remembered = { addresses: [], isOfThisBoot: false };

/** What is on disk. */
export interface Remembered {
  /** In order. */
  readonly addresses: readonly Address[];
  /** Whether an earlier process of this boot has written it. */
  readonly isOfThisBoot: boolean;
}

/**
 * The addresses that were selected last, on disk, in the form of a snapshot: a node that boots needs a relay before it
 * has a view. Each is an object in JSON that has only a name, `<ip>:<port>`; one more has the id of the boot.
 */
export class RememberedRelays {
  readonly #folder: SnapshotFolder;
  readonly #state: QueryState;
  readonly #boot: string;
  /** What is on disk; without addresses if there is nothing that can be trusted. A disk may never answer. */
  readonly read: Promise<Remembered>;
  #names: readonly string[] = [];

  /**
   * @param service `namespace/name`; another one has a file of its own
   * @param onSlow called if the disk is slow
   */
  constructor(folder: SnapshotFolder, service: string, bootId: string, onSlow: () => void) {
    this.#folder = folder;
    this.#boot = `${BOOT}${bootId}`;
    this.#state = folder.writer.open(`/relays?service=${service}`);
    this.read = this.#read(onSlow);
  }

  /** Never rejects. */
  async #read(onSlow: () => void): Promise<Remembered> {
    const stored = await this.#folder.loadPatiently(this.#state, onSlow);
    // What has been selected meanwhile is newer.
    if (stored === undefined || this.#names.length > 0) return NOTHING;
    try {
      const names = stored.objects.map((object) => CODECS.json.meta(object).name);
      const addresses = names.filter((name) => !name.startsWith(BOOT)).map(parseName);
      if (addresses.length > MAX_RELAYS) throw new Error(`it has ${addresses.length} relays`);
      this.#state.adopt(this.#replace(names), stored);
      return { addresses, isOfThisBoot: names.includes(this.#boot) };
    } catch (error) {
      await this.#folder.setAside(this.#state.query, error as Error);
      return NOTHING;
    }
  }

  update(addresses: readonly Address[]): void {
    const names = [this.#boot, ...addresses.map(addressText)];
    if (names.join() !== this.#names.join()) this.#state.update(this.#replace(names), VERSION);
  }

  close(): void {
    this.#folder.writer.closeState(this.#state);
  }

  #replace(names: readonly string[]): Change[] {
    const gone = this.#names.map((key): Change => ({ type: 'DELETED', key }));
    this.#names = names;
    return gone.concat(names.map(addressObject));
  }
}

function addressObject(name: string): Change {
  const object = Buffer.from(JSON.stringify({ metadata: { name } }));
  return { type: 'MODIFIED', key: name, facts: CODECS.json.meta(object), object };
}

function parseName(name: string): Address {
  const [, v6, v4, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(name) ?? [];
  const [host, port] = [v6 ?? v4 ?? '', Number(digits)];
  if (isIP(host) === (v6 === undefined ? 4 : 6) && port > 0 && port < 65_536) return { host, port };
  throw new Error('it has a relay that is no address');
}
