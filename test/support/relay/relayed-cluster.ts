import { setTimeout as delay } from 'node:timers/promises';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { type ServingFiles, writeServingFiles } from '../../../harness/certificates.ts';
import { freePorts } from '../../../harness/network/free-port.ts';
import { HOLD, type TcpFault, type UrlFront } from '../../../harness/network/tcp-front.ts';
import type { Random } from '../../../harness/random.ts';
import type { Relay } from '../../../src/relay/relay.ts';
import { useFolder } from '../use-folder.ts';
import { putSlice } from '../wrapper/small-cluster.ts';
import { useCluster, useFront } from '../wrapper/use.ts';
import { useRelayOf } from './relay-fixture.ts';

/** How long a relay may be without the API server, in milliseconds. */
const SILENCE_MS = 300;

/** An API server in memory, and two relays that are restarted, lag, and lose the API server now and then. */
export class RelayedCluster {
  readonly api: string;
  readonly #cluster: ApiServer;
  readonly #files: ServingFiles;
  readonly #ports: readonly number[];
  readonly #random: Random;
  /** The way of each relay to the API server. */
  readonly #links: readonly UrlFront[];
  readonly #relays: (Relay | undefined)[] = [];
  readonly #names = Array.from({ length: 12 }, (_, n) => `slice-${n}`);

  static async start(random: Random): Promise<RelayedCluster> {
    const cluster = useCluster({ bookmarkIntervalMs: 100, windowSize: 100_000 });
    const files = await writeServingFiles(useFolder());
    const api = await cluster.listen();
    const links = [await useFront(api), await useFront(api)];
    const started = new RelayedCluster(cluster, api, files, links, await freePorts(2), random);
    await Promise.all([0, 1].map((n) => started.#startRelay(n)));
    return started;
  }

  private constructor(
    cluster: ApiServer,
    api: string,
    files: ServingFiles,
    links: readonly UrlFront[],
    ports: readonly number[],
    random: Random,
  ) {
    this.#cluster = cluster;
    this.api = api;
    this.#files = files;
    this.#links = links;
    this.#ports = ports;
    this.#random = random;
  }

  get version(): number {
    return this.#cluster.resourceVersion;
  }

  /** URL of a relay or of the API server. */
  anyServer(): string {
    const servers = [this.api, ...this.#ports.map((port) => `https://127.0.0.1:${port}`)];
    return this.#random.pick(servers);
  }

  /**
   * Changes slices all the time. Meanwhile relays restart, lag and lose the API server, watches are cut, and the
   * history is dropped. In the end all is as it was at the start.
   */
  async disturb(ms: number): Promise<void> {
    const end = performance.now() + ms;
    const faults = [
      () => this.#cluster.cutWatches(),
      () => this.#loseHistory(),
      () => this.#restart(0),
      () => this.#restart(1),
      () => this.#disturbLink(0, HOLD),
      () => this.#disturbLink(1, HOLD),
      () => this.#disturbLink(0, { kind: 'refuse' }),
      () => this.#disturbLink(1, { kind: 'refuse' }),
    ];
    const begun: Promise<void>[] = [];
    let next = performance.now() + 300;
    while (performance.now() < end) {
      this.#change();
      if (performance.now() > next) {
        next += 300 + this.#random.below(600);
        begun.push(Promise.resolve(this.#random.pick(faults)()));
      }
      // Sometimes several changes in one turn of the event loop.
      if (this.#random.chance(0.5)) await delay(this.#random.below(4));
    }
    await Promise.all(begun);
  }

  /** Nobody can continue: a list shows what has changed meanwhile. */
  async #loseHistory(): Promise<void> {
    const release = this.#cluster.refuse(({ query }) => query.has('watch'), 500);
    this.#cluster.cutWatches();
    await delay(this.#random.below(200));
    this.#cluster.compact();
    release();
  }

  #change(): void {
    // Moves the version, and is not selected.
    if (this.#random.chance(0.3)) this.#cluster.label('edge-3', 'turn', String(this.version));
    const name = this.#random.pick(this.#names);
    const exists = this.#cluster.get('endpointslices', name) !== undefined;
    if (exists && this.#random.chance(0.2)) this.#cluster.delete('endpointslices', name);
    else {
      const ip = `10.0.${this.#random.below(256)}.${this.#random.below(256)}`;
      // Some leave the selection, which is a DELETED with the version of an update.
      const site = this.#random.chance(0.2) ? 'b' : 'a';
      putSlice(this.#cluster, name, 'web', [{ ip, node: 'edge-1' }], { site });
    }
  }

  async #disturbLink(n: number, fault: TcpFault): Promise<void> {
    const active = await this.#links[n]?.begin(fault);
    await delay(this.#random.below(4 * SILENCE_MS));
    await active?.end();
  }

  async #restart(n: number): Promise<void> {
    const relay = this.#relays[n];
    if (relay === undefined) return;
    this.#relays[n] = undefined;
    await relay.close();
    await this.#startRelay(n);
  }

  async #startRelay(n: number): Promise<void> {
    const server = this.#links[n]?.url ?? this.api;
    const options = { bookmarkMs: 100, silenceMs: SILENCE_MS };
    this.#relays[n] = await useRelayOf(server, this.#files, options, this.#ports[n]);
  }
}
