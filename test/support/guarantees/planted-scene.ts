import { freePorts } from '../../../harness/network/free-port.ts';
import type { NodeProxy } from '../../../src/server/node-proxy.ts';
import { closedLater } from '../closed-later.ts';
import { eventually } from '../eventually.ts';
import { sendRequest } from '../recorder/exchange.ts';
import { type FollowOptions, follow } from '../recorder/follow.ts';
import { type Generation, toClientRecords } from '../recorder/read-records.ts';
import { type RecordedObject, toRecord, toWritten } from '../recorder/written-object.ts';
import type { WrittenRecord } from '../recorder/written-record.ts';
import { putService, putSlice } from '../wrapper/small-cluster.ts';
import { useCluster, useWrapper } from '../wrapper/use.ts';
import { type PlantedBug, plant } from './planted-bug.ts';
import { checkGuarantees, type Guarantee } from './watch-guarantees.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const ATOM_KEYS = ['default/web-a', 'default/web-b'];

/** Two clients of a wrapper: `steady` receives what it sends, `second` what it would send with a planted bug. */
export class PlantedScene {
  /** What each client has received. */
  readonly records = { steady: [] as WrittenRecord[], second: [] as WrittenRecord[] };
  readonly #cluster = useCluster();
  readonly #generations: Generation[] = [];
  readonly #states: string[][] = [];
  readonly #stopped = new AbortController();
  #apiServer = '';
  #proxy: NodeProxy | undefined;
  #changes = 0;

  async start(bug: PlantedBug, mode: FollowOptions['mode']): Promise<void> {
    putService(this.#cluster, 'web', ['site']);
    for (const [index, name] of ['web-a', 'web-b'].entries()) {
      putSlice(this.#cluster, name, 'web', [
        { ip: `10.0.${index}.2`, node: 'edge-2' },
        { ip: `10.0.${index}.3`, node: 'edge-3' },
      ]);
    }
    putSlice(this.#cluster, 'free', 'nobody', [{ ip: '10.0.9.0', node: 'edge-2' }]);
    this.#apiServer = await this.#cluster.listen();
    const [port] = await freePorts(1);
    await this.#startWrapper(`127.0.0.1:${port}`);
    for (const site of ['b', 'a'] as const) await this.relabel(site);
    closedLater({ close: () => this.#stopped.abort() });
    this.#follow('steady', 'list', sendRequest);
    this.#follow('second', mode, plant(bug));
    await eventually(() => Object.values(this.records).every(({ length }) => length > 0), true);
  }

  /** Changes a slice that no policy manages, which is an event each time. Waits until `steady` has it. */
  async change(): Promise<void> {
    this.#changes += 1;
    const before = this.records.steady.length;
    const ip = `10.0.9.${this.#changes}`;
    putSlice(this.#cluster, 'free', 'nobody', [{ ip, node: 'edge-2' }]);
    await eventually(() => this.records.steady.length > before, true);
  }

  /** Relabels the own node, which changes two slices together. */
  async relabel(site: 'a' | 'b'): Promise<void> {
    this.#cluster.label('edge-1', 'site', site);
    const ip = site === 'a' ? '10.0.0.2' : '10.0.0.3';
    await eventually(async () => (await this.#list()).includes(`"${ip}"`), true);
    const { items } = JSON.parse(await this.#list()) as { items: RecordedObject[] };
    const digests = new Map(items.map(toWritten).map(({ key, digest }) => [key, digest]));
    this.#states.push(ATOM_KEYS.map((key) => digests.get(key) ?? ''));
  }

  /** Restarts the wrapper at the same address, with versions of a new process. */
  async restartWrapper(): Promise<void> {
    const { host } = new URL(this.#proxy?.url ?? '');
    await this.#proxy?.close();
    await this.#startWrapper(host);
  }

  /** The newest version of the wrapper. */
  async version(): Promise<string> {
    const { metadata } = JSON.parse(await this.#list()) as RecordedObject;
    return metadata.resourceVersion;
  }

  /** The guarantees that were violated so far. */
  violated(): Guarantee[] {
    const clients = Object.entries(this.records).map(
      ([name, records]) => [name, toClientRecords(records, this.#generations)] as const,
    );
    const atom = { keys: ATOM_KEYS, states: this.#states };
    const violations = checkGuarantees(new Map(clients), [atom]);
    return [...new Set(violations.map(({ guarantee }) => guarantee))];
  }

  async #list(): Promise<string> {
    return await (await fetch(`${this.#proxy?.url}${SLICES}`)).text();
  }

  async #startWrapper(listen: string): Promise<void> {
    const start = Date.now();
    this.#generations.push({ log: `process ${this.#generations.length}`, start, end: undefined });
    this.#proxy = await useWrapper(this.#apiServer, {}, { listen });
  }

  #follow(
    client: keyof PlantedScene['records'],
    mode: FollowOptions['mode'],
    send: typeof sendRequest,
  ): void {
    const options = { mode, url: `${this.#proxy?.url}${SLICES}`, pauseMs: 50 };
    const receive = (record: Parameters<typeof toRecord>[0], answered: number): void => {
      this.records[client].push({ ...toRecord(record), answered });
    };
    void follow<RecordedObject>(options, { receive }, this.#stopped.signal, send);
  }
}
