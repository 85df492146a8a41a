import type { CorrectedEndpoint } from '../../proxy/local-runtime/corrector.ts';
import type { LocalRuntimeState } from '../../proxy/local-runtime/local-runtime.ts';
import type { OutcomeKind } from '../../topology/explain/explanation.ts';
import type { Cause } from '../causes.ts';
import type { DecisionRecord } from '../explain/decisions.ts';
import type { ResponseHead } from '../version-info.ts';

/** Data of the server-sent events, by name. */
export interface PageEvents {
  readonly state: NodeState;
  readonly rows: RowsEvent;
  readonly decisions: DecisionsEvent;
  /** Sent when there was no other event for a while, to show that the stream is alive. */
  readonly heartbeat: Readonly<Record<string, never>>;
}

/** A ServiceSummary without field names, to save bytes. */
export type ServiceRow = readonly [
  service: string,
  outcome: OutcomeKind,
  dryRun: 0 | 1,
  policy: string,
  keys: readonly string[],
  winners: readonly string[],
  kept: number,
  total: number,
  /** Seconds since the epoch; 0: there was no decision yet. */
  since: number,
  warnings: readonly string[],
  /** How many of the kept endpoints are ready. */
  ready: number,
];

/** Rows of Services that were decided again. A row can be equal to the previous one although its explanation changed. */
export interface RowsEvent {
  readonly rows: readonly ServiceRow[];
  /** Services that do not exist any more. */
  readonly gone: readonly string[];
  /** Number of Services that are still to be sent; 0: the page is up to date. */
  readonly left: number;
}

export interface DecisionsEvent {
  /** Number of the view. The page must drop the decisions of another view. */
  readonly view: number;
  /** Changes since the view was opened. */
  readonly count: number;
  /** Decisions that this page has not received yet, oldest first. */
  readonly decisions: readonly DecisionRecord[];
}

/** This node and its connections. */
export interface NodeState extends ResponseHead {
  /** URL of the documentation. */
  readonly docs: string;
  readonly node: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly communities: readonly string[];
  /** An annotation of the Node switches filtering off. */
  readonly off: boolean;
  /** All endpoints are shown, independent of policies. */
  readonly dryRun: boolean;
  /** Why there are no Services; undefined: there are Services. */
  readonly problem?: string;
  /** The topology keys that policies use. */
  readonly keys: readonly KeyState[];
  /** The checks of /readyz. */
  readonly checks: readonly {
    readonly name: string;
    readonly problem?: string | undefined;
    readonly remark?: string | undefined;
  }[];
  /** Why this node is not ready: one line for each cause, the one with the most failed checks first. */
  readonly causes: readonly Cause[];
  /** Undefined if endpoints are not corrected from the container runtime. */
  readonly localRuntime?: LocalRuntimeData;
  /** API servers. The first one is in use. */
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

/** What is corrected from the container runtime, in the view that kube-proxy reads. */
export interface LocalRuntimeData {
  /** `cutOff` while the API server is unreachable; `returning` until all corrections have ended. */
  readonly state: LocalRuntimeState;
  /** Why the runtime could not be read. */
  readonly problem?: string;
  /** The first of the corrected endpoints. */
  readonly corrected: readonly CorrectedEndpoint[];
  /** Number of all of them. */
  readonly count: number;
}

/** What a key means on this node, and which nodes match it. */
export interface KeyState {
  readonly key: string;
  readonly meaning: string;
  readonly matchesThisNode: boolean;
  /** Number of matching nodes, including this one; undefined: not watched. */
  readonly nodes?: number;
  /** The first matching nodes by name, without this one. */
  readonly neighbours: readonly string[];
}

export interface ViewState {
  /** Path and query string. */
  readonly query: string;
  readonly encoding: string;
  readonly objects: number;
  /** Active requests that read it, including watches. */
  readonly clients: number;
  /** Whether the view is complete and served. */
  readonly started: boolean;
  /** Whether the watch at the API server is open. */
  readonly connected: boolean;
  /** Whether it shows the snapshot from disk. */
  readonly fromDisk: boolean;
}
