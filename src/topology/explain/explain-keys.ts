import { ANY_KEY, CLOUD_KEY, COMMUNITY_KEY, HOSTNAME_KEY, ZONE_KEY } from '../policy/policy.ts';
import { consequenceOfRefusal, type NodeSet } from '../state/node-set.ts';
import type { Topology } from '../state/topology.ts';
import type { TopologyMatch } from '../state/topology-match.ts';
import type { KeyExplanation, Warning } from './explanation.ts';

/** Says what a key stands for on this node. */
export function explainKey(topology: Topology, key: string): KeyExplanation {
  const relation = topology.relation(key);
  const matchesThisNode = key === ANY_KEY || relation?.self === true;
  const meaning = meaningOf(topology, key);
  if (key === ANY_KEY || relation === undefined) return { key, meaning, matchesThisNode };
  const nodes = nodesOf(topology, relation);
  return { key, meaning, matchesThisNode, ...(nodes === undefined ? {} : { nodes: nodes.size }) };
}

function meaningOf(topology: Topology, key: string): string {
  if (key === ANY_KEY) return 'any endpoint';
  if (key === HOSTNAME_KEY) return 'endpoints on this node';
  if (key === CLOUD_KEY) return 'nodes that are no edge nodes';
  if (key === COMMUNITY_KEY) {
    const names = topology.communities();
    return names.length === 0
      ? 'nothing: this node is in no community'
      : `nodes in ${names.length === 1 ? 'community' : 'one of the communities'} ${names.join(', ')}`;
  }
  const value = topology.nodeContext?.labels.get(key);
  if (value === undefined) return `nothing: this node has no label ${key}`;
  return key === ZONE_KEY ? `endpoints in zone ${value}` : `nodes with ${key}=${value}`;
}

/** Nodes known to match a key, as of now; undefined when that is not known, or the key does not ask for nodes. */
export function nodesOfKey(topology: Topology, key: string): ReadonlySet<string> | undefined {
  const relation = topology.relation(key);
  if (key === ANY_KEY || key === HOSTNAME_KEY || relation === undefined) return undefined;
  return nodesOf(topology, relation);
}

/**
 * Nodes known to be in a relation, as of now; undefined when its node sets are not known (nor needed, for zones).
 */
function nodesOf(topology: Topology, relation: TopologyMatch): ReadonlySet<string> | undefined {
  const parts = [relation.nodes];
  for (const selector of relation.selectors) {
    const set = topology.nodeSets.get(selector);
    if (set === undefined || set.state === 'syncing') return undefined;
    parts.push(set.members);
  }
  const [only, ...others] = parts.filter(({ size }) => size > 0);
  // Not copied: this is asked for every Service, and thousands of nodes may match.
  if (
    only !== undefined &&
    others.length === 0 &&
    (!relation.self || only.has(topology.nodeName))
  ) {
    return only;
  }
  const nodes = new Set(relation.self ? [topology.nodeName] : []);
  for (const part of parts) for (const node of part) nodes.add(node);
  return nodes;
}

/** What is odd about a key on this node, whatever the endpoints are. */
export function warnOfKey(topology: Topology, key: string): Warning[] {
  const relation = topology.relation(key);
  if (key === ANY_KEY || key === HOSTNAME_KEY || relation === undefined) return [];
  const warnings: Warning[] = [];
  for (const selector of relation.selectors) {
    const set = topology.nodeSets.get(selector);
    if (set?.refusal === undefined) continue;
    warnings.push({
      code: 'node-set-refused',
      severity: 'warning',
      message: `${reasonOf(set)} nodes with ${selector}, which ${key} needs: ${consequenceOfRefusal(set)}: ${set.refusal}`,
    });
  }
  const empty = warnOfEmpty(topology, key, relation);
  if (empty !== undefined) warnings.push(empty);
  return warnings;
}

function reasonOf({ state }: Readonly<NodeSet>): string {
  return state === 'overLimit'
    ? 'the wrapper does not watch'
    : 'the API server does not let the wrapper read';
}

function warnOfEmpty(
  topology: Topology,
  key: string,
  relation: TopologyMatch,
): Warning | undefined {
  if (key === COMMUNITY_KEY && !relation.self) {
    return {
      code: 'community-empty',
      severity: 'warning',
      message: `${key} matches nothing: node ${topology.nodeName} is in no community`,
    };
  }
  if (key !== CLOUD_KEY && !relation.self) {
    return {
      code: 'own-label-missing',
      severity: 'warning',
      message: `${key} matches nothing: node ${topology.nodeName} has no such label (kubectl label node ${topology.nodeName} ${key}=…)`,
    };
  }
  const sets = relation.selectors.map((selector) => topology.nodeSets.get(selector));
  // What may not be read may well be there.
  if (sets.some((set) => set?.refusal !== undefined)) return undefined;
  const nodes = nodesOf(topology, relation);
  if (nodes === undefined) return undefined;
  if (nodes.size === 0) {
    return {
      code: 'key-without-nodes',
      severity: 'warning',
      message: `${key} matches nothing: there is no such node`,
    };
  }
  if (nodes.size > 1 || !nodes.has(topology.nodeName)) return undefined;
  return {
    code: 'no-other-node',
    severity: 'info',
    message: `${key} matches this node only: no other node is known to match`,
  };
}
