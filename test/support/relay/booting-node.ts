import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { decodeSnapshot } from '../../../src/client/snapshot/snapshot-format.ts';
import type { NodeProxy, NodeProxyOptions } from '../../../src/server/node-proxy.ts';
import { follow } from '../recorder/follow.ts';
import type { ReceivedRecord } from '../recorder/written-record.ts';
import { useFastFolder } from '../use-folder.ts';
import { useState } from '../wrapper/state-fixture.ts';
import { startWrapper } from '../wrapper/wrapper-fixture.ts';
import { credentialsFor } from './relay-fixture.ts';

/** As kube-proxy asks for it. */
const PATH =
  '/apis/discovery.k8s.io/v1/endpointslices?labelSelector=%21service.kubernetes.io%2Fheadless';
/** On disk: Services, slices, the own Node and its last labels, Nodes of the site, the addresses of relays. */
const FILES = 6;
/** How soon a node tries a relay again, in milliseconds. */
const RETURN_MS = 100;

interface Slice {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[] | null;
}

/** By name of a slice: the number of the change that it was last written by. */
export type Changes = ReadonlyMap<string, number>;

/** The address by which a change can be recognised. */
export function addressOfChange(change: number): string {
  return `10.0.${change >> 8}.${change & 255}`;
}

/** Undefined: its endpoints are cut, or it has none. */
function changeOf({ endpoints }: Slice): number | undefined {
  const [, , high, low] = endpoints?.[0]?.addresses[0]?.split('.').map(Number) ?? [];
  return high === undefined || low === undefined ? undefined : high * 256 + low;
}

/**
 * A node with a disk. While it has power it runs a wrapper and a client that lists and watches as kube-proxy does;
 * each state that the client sees is judged at once.
 */
export class BootingNode {
  readonly name: string;
  /** What was wrong so far. */
  readonly found: string[] = [];
  proxy: NodeProxy | undefined;
  readonly #server: URL;
  readonly #caFile: string;
  #folder = useFastFolder();
  /** What the disk had when the power came. Nothing older may be shown. */
  #onDisk: Changes = new Map();
  #remembers = false;
  /** What its client sees. */
  readonly #shown = new Map<string, { change: number; version: bigint }>();
  /** Of each `name@version` that this node ever showed: the change. */
  readonly #meanings = new Map<string, number>();
  #stopClient = async (): Promise<void> => {};

  constructor(name: string, server: URL, caFile: string) {
    this.name = name;
    this.#server = server;
    this.#caFile = caFile;
  }

  /** Whether its disk had what to show and where its relays are, when the power came. */
  get remembers(): boolean {
    return this.#remembers;
  }

  /** Whether its client has all that the disk had, or something newer. */
  get isServed(): boolean {
    return [...this.#onDisk.keys()].every((name) => this.#shown.has(name));
  }

  /** Whether its client and its disk have these. */
  has(changes: Changes): boolean {
    const onDisk = this.#readDisk();
    const isNewest = ([name, change]: [string, number]): boolean =>
      this.#shown.get(name)?.change === change && onDisk.get(name) === change;
    return this.#hasAllFiles && [...changes].every(isNewest);
  }

  async turnOn(bootId: string, relayWaitMs: NonNullable<NodeProxyOptions['relayWaitMs']>) {
    const credentials = credentialsFor(this.#server.origin, this.name);
    this.#onDisk = this.#readDisk();
    this.#remembers = this.#hasAllFiles;
    this.proxy = await startWrapper(
      this.#server.origin,
      {
        credentials,
        relays: { service: 'default/relay', caFile: this.#caFile },
        relayWaitMs,
        returnMs: RETURN_MS,
        bootId,
        state: { ...useState(), folder: this.#folder },
      },
      { nodeName: this.name },
    );
    const abort = new AbortController();
    const options = { url: this.proxy.url + PATH, mode: 'list', pauseMs: 5 } as const;
    const receive = (record: ReceivedRecord<Slice>): void => this.#receive(record);
    const following = follow<Slice>(options, { receive }, abort.signal);
    this.#stopClient = async () => {
      abort.abort();
      await following;
    };
  }

  /** The disk stays as it is now; what a process that is told to stop still writes is lost. */
  async losePower(): Promise<void> {
    const { proxy } = this;
    if (proxy === undefined) return;
    this.proxy = undefined;
    const folder = useFastFolder();
    copyDisk(this.#folder, folder);
    await this.#stopClient();
    this.#shown.clear();
    await proxy.close();
    this.#folder = folder;
    const before = this.#onDisk;
    for (const [name, change] of this.#readDisk()) {
      if (change < (before.get(name) ?? 0)) this.#find(`the disk went back to ${name}`);
    }
  }

  /** While it has no power it gets an empty disk. */
  loseDisk(): void {
    this.#folder = useFastFolder();
  }

  #receive(record: ReceivedRecord<Slice>): void {
    if (record.kind === 'list') {
      const slices = record.items.filter(isJudged);
      for (const name of this.#known()) {
        if (!slices.some(({ metadata }) => metadata.name === name)) this.#find(`${name} is gone`);
      }
      for (const slice of slices) this.#see(slice, 'list');
    } else if (record.kind === 'event' && isJudged(record.object)) {
      if (record.type === 'DELETED') this.#find(`${record.object.metadata.name} is deleted`);
      else this.#see(record.object, 'event');
    } else if (record.kind === 'unreadable') this.#find(`${record.what} cannot be read`);
  }

  #see(slice: Slice, how: 'list' | 'event'): void {
    const { name, resourceVersion } = slice.metadata;
    const version = BigInt(resourceVersion);
    const change = changeOf(slice);
    if (change === undefined) {
      this.#find(`${name} has no endpoints`);
      return;
    }
    const last = this.#shown.get(name);
    const oldest = last?.change ?? this.#onDisk.get(name) ?? 0;
    if (change < oldest) this.#find(`${name} goes back from ${oldest} to ${change}`);
    // A list has the versions of objects that have not changed again.
    const isRepeated = last !== undefined && version <= last.version;
    if (isRepeated && how === 'event')
      this.#find(`${name} has version ${version} after ${last?.version}`);
    const id = `${name}@${resourceVersion}`;
    const meaning = this.#meanings.get(id) ?? change;
    if (meaning !== change) this.#find(`${id} meant ${meaning}, and now ${change}`);
    this.#meanings.set(id, change);
    this.#shown.set(name, { change, version });
  }

  /** The slices that must be shown if anything is. */
  #known(): Set<string> {
    return new Set([...this.#onDisk.keys(), ...this.#shown.keys()]);
  }

  #find(problem: string): void {
    this.found.push(`${this.name}: ${problem}`);
  }

  get #hasAllFiles(): boolean {
    const files = readdirSync(this.#folder).filter((name) => name.endsWith('.snapshot'));
    return files.length === FILES;
  }

  #readDisk(): Changes {
    const file = readdirSync(this.#folder).find((name) => name.startsWith('endpointslices-'));
    if (file === undefined) return new Map();
    const { objects } = decodeSnapshot(readFileSync(join(this.#folder, file)));
    const slices = objects.map((object) => JSON.parse(object.toString()) as Slice);
    return new Map(
      slices.filter(isJudged).map((each) => [each.metadata.name, changeOf(each) ?? 0]),
    );
  }
}

/** The relays have a slice too. */
function isJudged({ metadata }: Slice): boolean {
  return metadata.name.startsWith('web-');
}

/** Again while files are being renamed. */
function copyDisk(from: string, to: string): void {
  for (;;) {
    try {
      cpSync(from, to, { recursive: true });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      rmSync(to, { recursive: true, force: true });
    }
  }
}
