import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ApiServer } from '../../../embedded/api-server.ts';
import type { NodeProxy } from '../../../src/proxy/node-proxy.ts';
import { eventually } from '../../e2e/support/eventually.ts';
import { freePorts } from '../../e2e/support/free-port.ts';
import { spawnMortal } from '../process/mortal-child.ts';
import type { RecorderConfig } from '../recorder/main.ts';
import { type Generation, readRecords, toClientRecords } from '../recorder/read-records.ts';
import { type ReceivedObject, toWritten } from '../recorder/written-object.ts';
import type { TimedRecord } from '../recorder/written-record.ts';
import { createSmallCluster, putService, putSlice } from '../wrapper/small-cluster.ts';
import { startWrapper } from '../wrapper/wrapper-fixture.ts';
import { type PlantedBug, type Shim, startShim } from './planted-shim.ts';
import { type Atom, checkGuarantees, type Guarantee } from './watch-guarantees.ts';

const SLICES = '/apis/discovery.k8s.io/v1/endpointslices';
const ATOM_KEYS = ['default/web-a', 'default/web-b'];

/** Two recording clients of a wrapper: `steady` connects directly, `second` through a server with a planted bug. */
export interface PlantedScene {
  /** Changes a slice that no policy manages, which is an event each time. Waits until `steady` has it. */
  change(): Promise<void>;
  /** Relabels the own node, which changes two slices together. */
  relabel(site: 'a' | 'b'): Promise<void>;
  /** Restarts the wrapper at the same address, with versions of a new process. */
  restartWrapper(): Promise<void>;
  records(client: 'steady' | 'second'): TimedRecord[];
  /** The newest version of the wrapper. */
  version(): Promise<string>;
  /** Stops the clients and returns the guarantees that were violated. */
  violated(): Promise<Guarantee[]>;
  stop(): Promise<void>;
}

export async function startPlantedScene(
  bug: PlantedBug,
  second: Pick<RecorderConfig, 'mode' | 'pauseMs'>,
): Promise<PlantedScene> {
  const scene = new Scene();
  await scene.start(bug, second);
  return scene;
}

class Scene implements PlantedScene {
  readonly #folder = mkdtempSync(join(tmpdir(), 'planted-'));
  readonly #cluster: ApiServer = createSmallCluster();
  readonly #generations: Generation[] = [];
  readonly #states: string[][] = [];
  #apiServer = '';
  #url = '';
  #proxy: NodeProxy | undefined;
  #shim: Shim | undefined;
  #recorders: ChildProcess | undefined;
  #changes = 0;

  async start(bug: PlantedBug, second: Pick<RecorderConfig, 'mode' | 'pauseMs'>): Promise<void> {
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
    this.#url = `http://127.0.0.1:${port}`;
    await this.#startWrapper();
    for (const site of ['b', 'a'] as const) await this.relabel(site);
    this.#shim = await startShim(this.#url, bug);
    this.#startRecorders([
      { mode: 'list', file: this.#file('steady'), url: this.#url + SLICES, pauseMs: 50 },
      { pauseMs: 50, ...second, file: this.#file('second'), url: this.#shim.url + SLICES },
    ]);
    const begun = () => this.records('steady').length > 0 && this.records('second').length > 0;
    await eventually(begun, Boolean, { timeoutMs: 20_000, what: 'both clients list' });
  }

  async change(): Promise<void> {
    this.#changes += 1;
    const before = this.records('steady').length;
    const ip = `10.0.9.${this.#changes}`;
    putSlice(this.#cluster, 'free', 'nobody', [{ ip, node: 'edge-2' }]);
    const came = () => this.records('steady').length > before;
    await eventually(came, Boolean, { timeoutMs: 20_000, what: 'the steady client has the event' });
  }

  async relabel(site: 'a' | 'b'): Promise<void> {
    this.#cluster.label('edge-1', 'site', site);
    const ip = site === 'a' ? '10.0.0.2' : '10.0.0.3';
    const follows = (text: string) => text.includes(`"${ip}"`);
    const { value } = await eventually(async () => await this.#list(), follows, {
      timeoutMs: 20_000,
      what: 'the wrapper follows the label',
    });
    const { items } = JSON.parse(value) as { items: ReceivedObject[] };
    const digests = new Map(items.map(toWritten).map(({ key, digest }) => [key, digest]));
    this.#states.push(ATOM_KEYS.map((key) => digests.get(key) ?? ''));
  }

  async restartWrapper(): Promise<void> {
    await this.#proxy?.close();
    await this.#startWrapper();
  }

  records(client: 'steady' | 'second'): TimedRecord[] {
    const file = this.#file(client);
    return existsSync(file) ? readRecords(file) : [];
  }

  async version(): Promise<string> {
    const { metadata } = JSON.parse(await this.#list()) as ReceivedObject;
    return metadata.resourceVersion;
  }

  async violated(): Promise<Guarantee[]> {
    await this.#stopRecorders();
    const clients = (['steady', 'second'] as const).map(
      (name) => [name, toClientRecords(this.records(name), this.#generations)] as const,
    );
    const atom: Atom = { keys: ATOM_KEYS, states: this.#states };
    const violations = checkGuarantees(new Map(clients), [atom]);
    return [...new Set(violations.map(({ guarantee }) => guarantee))];
  }

  async stop(): Promise<void> {
    await this.#stopRecorders();
    await this.#shim?.close();
    await this.#proxy?.close();
    await this.#cluster.close();
    rmSync(this.#folder, { recursive: true });
  }

  async #list(): Promise<string> {
    return await (await fetch(this.#url + SLICES)).text();
  }

  async #startWrapper(): Promise<void> {
    const start = Date.now();
    this.#generations.push({ log: `process ${this.#generations.length}`, start, end: undefined });
    const { host } = new URL(this.#url);
    this.#proxy = await startWrapper(this.#apiServer, {}, { listen: host });
  }

  #file(client: string): string {
    return join(this.#folder, `${client}.jsonl`);
  }

  #startRecorders(configs: readonly RecorderConfig[]): void {
    const program = join(import.meta.dirname, '../recorder/main.ts');
    this.#recorders = spawnMortal(process.execPath, [program, JSON.stringify(configs)], {
      stdout: 'inherit',
    });
  }

  async #stopRecorders(): Promise<void> {
    const recorders = this.#recorders;
    this.#recorders = undefined;
    if (recorders === undefined) return;
    recorders.kill('SIGKILL');
    await once(recorders, 'close');
  }
}
