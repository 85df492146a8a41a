import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { ControlPlane } from '../harness/api-server/control-plane.ts';
import { type ProcessOptions, startProcess } from '../harness/process/managed-process.ts';
import type { ClusterShape } from './options.ts';

/** Which server answers. */
export type Target = 'direct' | 'wrapper';

/** The encoding of what is read. */
export type Encoding = 'protobuf' | 'json';

/** Times of several equal requests. */
export interface Times {
  readonly ms: readonly number[];
  readonly bytes: number;
}

/** Times of watch events, in milliseconds. */
export interface Latencies {
  /** From the start of the PATCH to the arrival at a direct watcher. */
  readonly direct: readonly number[];
  /** From there to the arrival at the wrapper's watcher, for each event and watcher. */
  readonly added: readonly number[];
}

/** Times from the arrival of the Node's event at a direct watcher, in milliseconds. */
export interface Relabelling {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly events: number;
  readonly expected: number;
}

/** What came of changes. */
export interface Churned {
  readonly events: number;
  /** How long the changes took. */
  readonly seconds: number;
}

/** What happens in a cluster at work. */
export interface Life {
  readonly seconds: number;
  /** Slices that change in a second. */
  readonly slices: number;
  /** Nodes that write their status in a second. */
  readonly heartbeats: number;
}

/** The Go program that loads the API server and measures; see client/main.go. */
export interface MeasuringClient {
  /** Names the wrapper that is measured from now on, and its node (default: our own). */
  useWrapper(url: string, node?: string): Promise<void>;
  /** Names the relay through which a kube-proxy alone reaches the API server from now on. */
  useAlone(url: string): Promise<void>;
  createNodes(cluster: ClusterShape): Promise<void>;
  /** Adds sites, with nodes like the others, until there are so many. */
  createFleet(sites: number): Promise<void>;
  /** Creates Services and slices; returns the milliseconds that it took. */
  load(): Promise<number>;
  /** Gives all Services topology keys (default: hostname, room, site, `*`); returns the milliseconds that it took. */
  annotate(keys?: readonly string[]): Promise<number>;
  /** Fails unless a LIST holds just the endpoints that it should. */
  verify(target: Target, filtered: boolean, encoding?: Encoding): Promise<void>;
  /** Repeats a LIST until it succeeds; returns the time of the last byte (ms since the epoch). */
  firstList(target: Target): Promise<number>;
  list(target: Target, count: number, encoding?: Encoding): Promise<Times>;
  stream(target: Target, count: number): Promise<Times>;
  /** Opens the four watches of a kube-proxy, for each of so many (default 1); `alone`: see useAlone. */
  hold(target: Target | 'alone', clients?: number): Promise<void>;
  /** Closes these; fails if one of them has ended before. */
  release(): Promise<void>;
  latency(clients: number, count: number, pauseMs: number): Promise<Latencies>;
  /** Opens the watch that `churn` counts at, in place of the last one. */
  follow(target: Target): Promise<void>;
  unfollow(): Promise<void>;
  /**
   * Patches endpoints that the node doesn't see and counts the events that come of it at the watch of `follow`.
   * Fails if that has ended.
   */
  churn(count: number, pauseMs: number): Promise<Churned>;
  /** Gives our own node these values of a label, one after the other. */
  relabelOwn(label: string, values: readonly string[]): Promise<readonly Relabelling[]>;
  /** Moves the node of a crowd (0, 1 or 2; see client/cluster.go) into our site and back, so often. */
  relabelOther(crowd: number, count: number): Promise<readonly Relabelling[]>;
  /** Creates a Service of 10,000 endpoints in 100 slices; see client/large.go. */
  createLarge(): Promise<void>;
  deleteLarge(): Promise<void>;
  /** Patches a slice of it so that what the node sees changes, and no decision. */
  largeHostnames(count: number, pauseMs: number): Promise<Latencies>;
  /** Patches a slice of it so that the Service is decided again and one slice changes. */
  largeReadiness(count: number, pauseMs: number): Promise<Latencies>;
  /** Makes another key win and back, so often: all slices change. */
  largeKeys(count: number): Promise<readonly Relabelling[]>;
  /** Returns how much was changed. */
  live(life: Life): Promise<{ readonly slices: number; readonly heartbeats: number }>;
  stop(): Promise<void>;
}

export async function startClient(binary: string, plane: ControlPlane): Promise<MeasuringClient> {
  const logFile = join(plane.folder, 'bench-client.log');
  const ask = startAsking({ name: 'bench-client', command: binary, args: [], logFile });
  const { server, tokens, etcd } = plane;
  const call = async <T>(op: string, fields: object = {}) =>
    (await ask.call({ op, ...fields })) as T;
  await call('direct', {
    server,
    etcd: etcd.url,
    ca: readFileSync(plane.caFile, 'utf8'),
    adminToken: tokens.admin,
    readToken: tokens.kubeProxy,
  });
  return {
    useWrapper: async (url, node) => await call('wrapper', { server: url, node }),
    useAlone: async (url) => await call('alone', { server: url }),
    createNodes: async (cluster) => await call('nodes', { cluster }),
    createFleet: async (sites) => await call('fleet', { sites }),
    load: async () => await call('load'),
    annotate: async (keys) =>
      await call('annotate', keys === undefined ? {} : { keys: JSON.stringify(keys) }),
    verify: async (target, filtered, encoding) =>
      await call('verify', { target, filtered, json: encoding === 'json' }),
    firstList: async (target) => await call('first-list', { target }),
    list: async (target, count, encoding) =>
      await call('list', { target, count, json: encoding === 'json' }),
    stream: async (target, count) => await call('stream', { target, count }),
    hold: async (target, clients = 1) => await call('hold', { target, clients }),
    release: async () => await call('release'),
    latency: async (clients, count, pauseMs) => await call('latency', { clients, count, pauseMs }),
    follow: async (target) => await call('follow', { target }),
    unfollow: async () => await call('unfollow'),
    churn: async (count, pauseMs) => await call('churn', { count, pauseMs }),
    relabelOwn: async (label, values) => await call('relabel-own', { label, values }),
    relabelOther: async (crowd, count) => await call('relabel-other', { crowd, count }),
    createLarge: async () => await call('create-large'),
    deleteLarge: async () => await call('delete-large'),
    largeHostnames: async (count, pauseMs) =>
      await call('large-hostnames', { clients: 1, count, pauseMs }),
    largeReadiness: async (count, pauseMs) =>
      await call('large-readiness', { clients: 1, count, pauseMs }),
    largeKeys: async (count) => await call('large-keys', { count }),
    live: async (life) => await call('live', life),
    stop: ask.stop,
  };
}

type Answer = { readonly result?: unknown; readonly error?: string };

/** Starts a program that answers lines of JSON. Each response belongs to the oldest request without one. */
export function startAsking(options: ProcessOptions) {
  const process = startProcess({ ...options, piped: true });
  const { stdin, stdout } = process.child;
  if (stdin === null || stdout === null) throw new Error(`${options.name} needs pipes`);
  stdin.on('error', () => {});
  const waiting: ((answer: Answer) => void)[] = [];
  createInterface({ input: stdout }).on('line', (line) => {
    waiting.shift()?.(JSON.parse(line) as Answer);
  });
  void process.exited.then(() => {
    const error = `${options.name} ended: ${process.log().slice(-2000)}`;
    for (const settle of waiting.splice(0)) settle({ error });
  });
  return {
    call: async (request: object): Promise<unknown> => {
      const ending = process.ending();
      if (ending !== undefined) throw new Error(`${options.name} has ended: ${ending}`);
      const answer = await new Promise<Answer>((settle) => {
        waiting.push(settle);
        stdin.write(`${JSON.stringify(request)}\n`);
      });
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer.result;
    },
    log: process.log,
    stop: async () => await process.stop('SIGKILL'),
  };
}
