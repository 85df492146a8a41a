import { problem, problemOfKey } from '../../diagnosis/catalogue.ts';
import { similarKey } from '../../topology/policy/similar-key.ts';
import { ANY_KEY, CLOUD_KEY, COMMUNITY_KEY } from '../../topology/policy/topology-keys.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { firstFew } from '../../util/first-few.ts';
import type { TimeSlice } from '../explain/time-slice.ts';
import { type MissingLabel, noteLine, okLine, policyLine, type StatusLine } from './status-line.ts';

/** Lines for one label each. Tenants may use any keys. */
const MAX_LINES = 10;
/** Labels of the line for all others. */
const MAX_LABELS = 200;
const NAMED_LABELS = 5;
const NAMED_SERVICES = 3;

/**
 * The labels that active policies use and this node lacks, those with failing Services first. Dry runs do not count.
 *
 * @param isFailing whether connections to a Service fail
 */
export async function missingLabels(
  topology: Topology,
  isFailing: (service: string) => boolean,
  slice: TimeSlice,
): Promise<MissingLabel[]> {
  const missing: MissingLabel[] = [];
  for (const key of topology.policies.keysInUse()) {
    await slice.pause();
    if (!isMissing(topology, key)) continue;
    const users: string[] = [];
    for (const service of topology.policies.usersOf(key)) {
      await slice.pause();
      if (usesKey(topology, service, key)) users.push(service);
    }
    if (users.length === 0) continue;
    const failing = users.filter(isFailing).sort();
    const named = failing.length > 0 ? failing : users.sort();
    missing.push({
      key,
      services: users.length,
      failing: failing.length,
      names: named.slice(0, NAMED_SERVICES),
    });
  }
  return missing.sort((a, b) => b.failing - a.failing || b.services - a.services);
}

/** A key that matches no node, whatever other nodes there are. */
function isMissing(topology: Topology, key: string): boolean {
  if (key === ANY_KEY || key === CLOUD_KEY) return false;
  return topology.matchOf(key)?.self === false;
}

function usesKey(topology: Topology, service: string, key: string): boolean {
  const policy = topology.activePolicy(service);
  return policy?.managed === true && policy.dryRun !== true && policy.keys.includes(key);
}

/**
 * What is to be said about labels that this node lacks. A key that other nodes have is as its owner intends. This node
 * does not know the labels of others, but it knows its own, and those of its last Node.
 *
 * @param lastNode labels of the Node of this name that was deleted
 */
export function missingLabelLines(
  { nodeContext }: Topology,
  missing: readonly MissingLabel[],
  lastNode: ReadonlyMap<string, string> | undefined,
): StatusLine[] {
  const own = nodeContext?.labels ?? new Map<string, string>();
  const lines: StatusLine[] = [];
  const others: MissingLabel[] = [];
  for (const label of missing) {
    const { key } = label;
    const last = lastNode?.get(key);
    const similar = similarKey(key, own.keys());
    if (lines.length === MAX_LINES) others.push(label);
    else if (last !== undefined) lines.push(lostLine(label, last));
    else if (similar !== undefined) lines.push(misspeltLine(label, similar));
    else others.push(label);
  }
  return others.length === 0 ? lines : [...lines, otherLabelsLine(others, false)];
}

/** A kubelet that registers its Node again sets only the labels that it knows. */
function lostLine(label: MissingLabel, last: string): StatusLine {
  const { key, failing } = label;
  const detail = `${key}=${last}, ${usersText(label)}`;
  const line = policyLine(problem('label-lost', key), failing > 0, detail, label.names[0]);
  return { ...line, state: 'problem' };
}

function misspeltLine(label: MissingLabel, similar: string): StatusLine {
  const found = problemOfKey('key-misspelt', label.key, similar);
  const line = policyLine(found, label.failing > 0, usersText(label), label.names[0]);
  return { ...line, missing: [label] };
}

/**
 * The line for labels of which this node knows nothing else.
 *
 * @param isElsewhere whether other nodes are known to have them
 */
export function otherLabelsLine(
  missing: readonly MissingLabel[],
  isElsewhere: boolean,
): StatusLine {
  const names = missing.map((label) => `${labelName(label)}: ${usersText(label)}`);
  const detail = firstFew(names, NAMED_LABELS);
  const failing = missing.find((label) => label.failing > 0);
  const has = isElsewhere
    ? 'other nodes have them'
    : 'kubectl kpw status finds out whether other nodes have them';
  const line =
    failing === undefined
      ? okLine('policies', `this node lacks labels that Services use; ${has}`, detail)
      : noteLine(
          'policies',
          `${LACKS_LABELS}, as their policies say; ${has}`,
          detail,
          failing.names[0],
        );
  return { ...line, missing: missing.slice(0, MAX_LABELS) };
}

/** How the line begins if Services fail. */
export const LACKS_LABELS = 'Services fail on this node because it lacks labels';

function labelName({ key }: MissingLabel): string {
  return key === COMMUNITY_KEY ? 'any community' : key;
}

/** `1 of 3 Services fails: shop/web`. */
export function usersText({ services, failing, names }: MissingLabel): string {
  const all = services === 1 ? '1 Service' : `${services} Services`;
  const some = failing === services ? all : `${failing} of ${all}`;
  const fail = `${some} ${failing === 1 ? 'fails' : 'fail'}`;
  const list = firstFew(names, names.length, failing > 0 ? failing : services);
  return `${failing > 0 ? fail : all}: ${list}`;
}
