import type { Problem, ProblemCode } from '../../diagnosis/catalogue.ts';
import type { ResponseHead } from '../../diagnosis/reading/version-info.ts';

/**
 * - `ok`
 * - `problem`: something is wrong now, or will be when the link goes down
 * - `warning`: somebody should look at it, and the node works: it is counted as well
 * - `note`: Services fail here as their policies say, so the node works too
 * - `unknown`: it cannot be found out now
 * - `notConnected`: kube-proxy is not pointed at this wrapper: not yet, or no longer. That is no problem
 */
export type LineState = 'ok' | 'problem' | 'warning' | 'note' | 'unknown' | 'notConnected';

export type LineId =
  | 'wrapper'
  | 'kube-proxy'
  | 'rules'
  | 'data'
  | 'relay'
  | 'localRuntime'
  | 'stateDir'
  | 'policies';

/** One answer to "is it well?". An id has several lines if it has several problems. */
export interface StatusLine {
  readonly id: LineId;
  readonly state: LineState;
  /** Of the catalogue, if the line is about policies and not well; a wrapper of an earlier version gives none. */
  readonly code?: ProblemCode | undefined;
  /** The same on each node with the same outcome, so that these nodes share one line. */
  readonly text: string;
  /** What differs from node to node: names, numbers, times. */
  readonly detail?: string;
  /** What the reader can do; always there if it is a problem or a warning. */
  readonly next?: string;
  /** A Service that it is about, which explain explains. */
  readonly service?: string | undefined;
  /** The labels that this node lacks and the line is about, for readers that know those of all nodes. */
  readonly missing?: readonly MissingLabel[];
}

/** A label that this node lacks, and that policies use. */
export interface MissingLabel {
  readonly key: string;
  /** Number of Services that use it, and of those to which connections fail. */
  readonly services: number;
  readonly failing: number;
  /** The first of the failing Services, if any fails, else of all. */
  readonly names: readonly string[];
}

/** The response of /status: whether it is well on this node. */
export interface NodeStatus extends ResponseHead {
  readonly node: string;
  /** Identifies the settings in use: equal on nodes with equal settings. */
  readonly settings: string;
  readonly dryRun: boolean;
  /** `host:port` of the relay that it reads from; absent: it reads from an API server. */
  readonly relay?: string | undefined;
  readonly lines: readonly StatusLine[];
}

/**
 * A line about a problem of policies.
 *
 * @param isFailing whether connections fail because of it; otherwise the node works
 */
export function policyLine(
  { code, message, next = '' }: Problem,
  isFailing: boolean,
  detail?: string,
  service?: string,
): StatusLine {
  const text = isFailing ? `connections fail: ${message}` : message;
  const make = isFailing ? problemLine : warningLine;
  return { ...make('policies', text, next, detail), code, service };
}

export function okLine(id: LineId, text: string, detail?: string): StatusLine {
  return { id, state: 'ok', text, detail };
}

export function noteLine(id: LineId, text: string, detail: string, service?: string): StatusLine {
  return { id, state: 'note', text, detail, service };
}

export function unknownLine(id: LineId, text: string, detail?: string): StatusLine {
  return { id, state: 'unknown', text, detail };
}

export function warningLine(id: LineId, text: string, next: string, detail?: string): StatusLine {
  return { id, state: 'warning', text, detail, next };
}

export function problemLine(id: LineId, text: string, next: string, detail?: string): StatusLine {
  return { id, state: 'problem', text, detail, next };
}
