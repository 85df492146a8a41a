import type { OutcomeKind } from '../../topology/explain/explanation.ts';
import type { DecisionRecord } from '../explain/decisions.ts';

/** What the page is told, by name of the server-sent event. */
export interface PageEvents {
  readonly state: NodeState;
  readonly rows: RowsEvent;
  readonly decisions: DecisionsEvent;
  /** Nothing has happened for a while, but the stream is alive. */
  readonly heartbeat: Readonly<Record<string, never>>;
}

/** A Service in short: as ServiceSummary, without the names of its fields. */
export type ServiceRow = readonly [
  service: string,
  outcome: OutcomeKind,
  dryRun: 0 | 1,
  policy: string,
  keys: readonly string[],
  winners: readonly string[],
  kept: number,
  total: number,
  /** Seconds since the epoch; 0: nothing was decided yet. */
  since: number,
  warnings: readonly string[],
];

/** Rows of Services that were decided anew: even if a row is the same, its explanation may be another. */
export interface RowsEvent {
  readonly rows: readonly ServiceRow[];
  /** Services that are no more. */
  readonly gone: readonly string[];
  /** Services that follow; 0: the page is up to date. */
  readonly left: number;
}

export interface DecisionsEvent {
  /** Number of the view they are of; those of another one are to be forgotten. */
  readonly view: number;
  /** Changes since the view was opened. */
  readonly count: number;
  /** Those that were not told before, oldest first. */
  readonly decisions: readonly DecisionRecord[];
}

/** This node, and what it is connected to. */
export interface NodeState {
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly communities: readonly string[];
  /** An annotation of the Node switches filtering off. */
  readonly off: boolean;
  /** All is shown, whatever policies say. */
  readonly dryRun: boolean;
  /** Why there are no Services; undefined: there are. */
  readonly problem?: string;
  /** The topology keys that policies use. */
  readonly keys: readonly KeyState[];
  /** As in /readyz. */
  readonly checks: readonly { readonly name: string; readonly problem?: string | undefined }[];
  /** API servers; the first one is in use. */
  readonly servers: readonly string[];
  readonly failovers: number;
  readonly views: readonly ViewState[];
  readonly listeners: readonly {
    readonly name: string;
    readonly connections: number;
    readonly refused: number;
  }[];
  /** Watches that clients have open. */
  readonly watches: number;
}

/** What a key stands for on this node, and who is near by it. */
export interface KeyState {
  readonly key: string;
  readonly meaning: string;
  readonly matchesThisNode: boolean;
  /** Nodes known to match, this one included; undefined: not known, nor needed. */
  readonly nodes?: number;
  /** The first of them by name, without this one. */
  readonly neighbours: readonly string[];
}

export interface ViewState {
  /** Path and query. */
  readonly query: string;
  readonly encoding: string;
  readonly objects: number;
  /** Requests, watches included, that read it. */
  readonly clients: number;
  /** Complete, and served. */
  readonly started: boolean;
  /** The watch at the API server is open. */
  readonly connected: boolean;
  /** It shows what was on disk. */
  readonly fromDisk: boolean;
}
