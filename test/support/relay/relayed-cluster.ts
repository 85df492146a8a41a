import { setTimeout as delay } from 'node:timers/promises';
import type { ApiServer } from '../../../fake-apiserver/api-server.ts';
import { freePorts } from '../../../harness/network/free-port.ts';
import type { Relay } from '../../../src/relay/relay.ts';
import { type ServingFiles, writeServingFiles } from '../http/certificates.ts';
import { useFolder } from '../use-folder.ts';
import { putSlice } from '../wrapper/small-cluster.ts';
import { useCluster } from '../wrapper/use.ts';
import { useRelayOf } from './relay-fixture.ts';

/** An API server in memory, and two relays that are restarted now and then. */
export class RelayedCluster {
  readonly api: string;
  readonly #cluster: ApiServer;
  readonly #files: ServingFiles;
  readonly #ports: readonly number[];
  readonly #relays: (Relay | undefined)[] = [];
  readonly #names = Array.from({ length: 12 }, (_, n) => `slice-${n}`);

  static async start(): Promise<RelayedCluster> {
    const cluster = useCluster({ bookmarkIntervalMs: 100, windowSize: 100_000 });
    const files = await writeServingFiles(useFolder());
    const api = await cluster.listen();
    const started = new RelayedCluster(cluster, api, files, await freePorts(2));
    await Promise.all([0, 1].map((n) => started.#startRelay(n)));
    return started;
  }

  private constructor(
    cluster: ApiServer,
    api: string,
    files: ServingFiles,
    ports: readonly number[],
  ) {
    this.#cluster = cluster;
    this.api = api;
    this.#files = files;
    this.#ports = ports;
  }

  /** In [0, 1). */
  random(): number {
    return Math.random();
  }

  get version(): number {
    return this.#cluster.resourceVersion;
  }

  /** URL of a relay or of the API server. */
  anyServer(): string {
    const servers = [this.api, ...this.#ports.map((port) => `https://127.0.0.1:${port}`)];
    return servers[Math.floor(this.random() * servers.length)] as string;
  }

  /** Changes slices all the time. Meanwhile relays restart, watches are cut, and the history is dropped. */
  async disturb(ms: number): Promise<void> {
    const end = performance.now() + ms;
    const faults = [
      () => this.#cluster.cutWatches(),
      () => this.#loseHistory(),
      () => this.#restart(0),
      () => this.#restart(1),
    ];
    let next = performance.now() + 300;
    while (performance.now() < end) {
      this.#change();
      if (performance.now() > next) {
        next += 300 + 600 * this.random();
        void faults[Math.floor(this.random() * faults.length)]?.();
      }
      // Sometimes several changes in one turn of the event loop.
      if (this.random() < 0.5) await delay(3 * this.random());
    }
  }

  /** Nobody can continue: a list shows what has changed meanwhile. */
  async #loseHistory(): Promise<void> {
    const release = this.#cluster.refuse(({ query }) => query.has('watch'), 500);
    this.#cluster.cutWatches();
    await delay(200 * this.random());
    this.#cluster.compact();
    release();
  }

  #change(): void {
    // Moves the version, and is not selected.
    if (this.random() < 0.3) this.#cluster.label('edge-3', 'turn', String(this.version));
    const name = this.#names[Math.floor(this.random() * this.#names.length)] as string;
    const exists = this.#cluster.get('endpointslices', name) !== undefined;
    if (exists && this.random() < 0.2) this.#cluster.delete('endpointslices', name);
    else {
      const ip = `10.0.${Math.floor(256 * this.random())}.${Math.floor(256 * this.random())}`;
      // Some leave the selection, which is a DELETED with the version of an update.
      const site = this.random() < 0.2 ? 'b' : 'a';
      putSlice(this.#cluster, name, 'web', [{ ip, node: 'edge-1' }], { site });
    }
  }

  async #restart(n: number): Promise<void> {
    const relay = this.#relays[n];
    if (relay === undefined) return;
    this.#relays[n] = undefined;
    await relay.close();
    await this.#startRelay(n);
  }

  async #startRelay(n: number): Promise<void> {
    this.#relays[n] = await useRelayOf(this.api, this.#files, { bookmarkMs: 100 }, this.#ports[n]);
  }
}
