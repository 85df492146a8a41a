import { LACKS_LABELS, otherLabelsLine, usersText } from '../../src/admin/status/missing-labels.ts';
import {
  type MissingLabel,
  policyLine,
  type StatusLine,
} from '../../src/admin/status/status-line.ts';
import { problemOfKey } from '../../src/diagnosis/catalogue.ts';
import { nearestLabel, WELL_KNOWN } from '../../src/topology/policy/similar-key.ts';
import { COMMUNITY_KEY } from '../../src/topology/policy/topology-keys.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { AskedNode } from './asked-node.ts';
import { nodeLabels } from './list-nodes.ts';

/** Lines of a node about one label each. Tenants may use any keys. */
const MAX_LINES = 10;

/** Turns a line of a node into what can be said of it by somebody who knows the labels of all nodes. */
export type JudgeLabels = (line: StatusLine) => readonly StatusLine[];

/**
 * A node knows only which labels it lacks itself. This finds out which of these no node of the cluster has: that is a
 * mistake. Reads the nodes only if one lacks a label.
 */
export async function judgeLabels(
  client: KubeClient,
  nodes: readonly AskedNode[],
): Promise<JudgeLabels> {
  const isAny = nodes.some(({ status }) => status?.lines.some(({ missing }) => missing));
  if (!isAny) return (line) => [line];
  const byNode = await nodeLabels(client);
  if (byNode === undefined) return (line) => [unjudged(line)];
  const labels = new Set([...byNode.values()].flat());
  const isNowhere = ({ key }: MissingLabel) =>
    key === COMMUNITY_KEY ? lacksCommunity(nodes, byNode.size) : !labels.has(key);
  return (line) => {
    const { missing } = line;
    if (missing === undefined) return [line];
    const nowhere = missing.filter(isNowhere);
    const elsewhere = missing.filter((label) => !nowhere.includes(label));
    const lines = nowhere.slice(0, MAX_LINES).map((label) => nowhereLine(label, [...labels]));
    if (elsewhere.length === 0) return lines;
    if (isMistake(line)) return [...lines, line];
    const isKnown = elsewhere.every(({ key }) => key !== COMMUNITY_KEY);
    return [...lines, otherLabelsLine(elsewhere, isKnown)];
  };
}

/** Communities can be more than labels, so all nodes of the cluster must have reported that they are in none. */
function lacksCommunity(nodes: readonly AskedNode[], all: number): boolean {
  const lacking = nodes.filter(({ status }) =>
    status?.lines.some(({ missing }) => missing?.some(({ key }) => key === COMMUNITY_KEY)),
  );
  return lacking.length === all;
}

/** Whether the node knows more of its labels. */
function isMistake({ state }: StatusLine): boolean {
  return state === 'problem' || state === 'warning';
}

function nowhereLine(label: MissingLabel, labels: readonly string[]): StatusLine {
  const { key, failing } = label;
  const found = problemOfKey('key-without-nodes', key, nearestLabel(key, labels));
  const line = policyLine(found, failing > 0, usersText(label), label.names[0]);
  // A cluster may have no zones. As long as another key wins, nothing is wrong.
  return WELL_KNOWN.includes(key) ? line : { ...line, state: 'problem' };
}

function unjudged(line: StatusLine): StatusLine {
  const { missing = [] } = line;
  if (isMistake(line) || missing.every(({ failing }) => failing === 0)) return line;
  const text = `${LACKS_LABELS}, and whether any node has them is not known`;
  return { ...line, state: 'warning', text, next: 'grant the right to list nodes' };
}
