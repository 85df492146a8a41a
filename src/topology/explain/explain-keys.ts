import { similarKey } from '../policy/similar-key.ts';
import {
  ANY_KEY,
  CLOUD_KEY,
  COMMUNITY_KEY,
  HOSTNAME_KEY,
  ZONE_KEY,
} from '../policy/topology-keys.ts';
import { consequenceOfRefusal, type NodeSet } from '../state/node-set.ts';
import type { Topology } from '../state/topology.ts';
import { ownValue, type TopologyMatch } from '../state/topology-match.ts';
import type { KeyExplanation, Warning } from './explanation.ts';

/** Explains what a key matches on this node. */
export function explainKey(topology: Topology, key: string): KeyExplanation {
  const match = topology.matchOf(key);
  const matchesThisNode = key === ANY_KEY || match?.self === true;
  const meaning = meaningOf(topology, key);
  if (key === ANY_KEY || match === undefined) return { key, meaning, matchesThisNode };
  return { key, meaning, matchesThisNode, nodes: nodesOf(topology, match)?.size };
}

function meaningOf(topology: Topology, key: string): string {
  if (key === ANY_KEY) return 'any endpoint';
  if (key === HOSTNAME_KEY) return 'endpoints on this node';
  if (key === CLOUD_KEY) return 'nodes that are not edge nodes';
  if (key === COMMUNITY_KEY) {
    const names = topology.communities();
    return names.length === 0
      ? 'nothing: this node is in no community'
      : `nodes in ${names.length === 1 ? 'community' : 'one of the communities'} ${names.join(', ')}`;
  }
  const value = topology.nodeContext && ownValue(key, topology.nodeContext);
  if (value === undefined && key === ZONE_KEY) return 'nothing: this node is in no zone';
  if (value === undefined) return `nothing: this node has no label ${key}`;
  return key === ZONE_KEY ? `endpoints in zone ${value}` : `nodes with ${key}=${value}`;
}

/** Nodes known to match a key now; undefined if they are not known, or the key does not depend on nodes. */
export function nodesOfKey(topology: Topology, key: string): ReadonlySet<string> | undefined {
  const match = topology.matchOf(key);
  if (key === ANY_KEY || key === HOSTNAME_KEY || match === undefined) return undefined;
  return nodesOf(topology, match);
}

/** Nodes known to match now; undefined if a node set is not known (for zones it may not be needed). */
function nodesOf(topology: Topology, match: TopologyMatch): ReadonlySet<string> | undefined {
  const parts = [match.nodes];
  for (const selector of match.selectors) {
    const set = topology.nodeSets.get(selector);
    if (set === undefined || set.state === 'syncing') return undefined;
    parts.push(set.members);
  }
  const [only, ...others] = parts.filter(({ size }) => size > 0);
  // Not copied: this is called for every Service, and thousands of nodes may match.
  if (only !== undefined && others.length === 0 && (!match.self || only.has(topology.nodeName))) {
    return only;
  }
  const nodes = new Set(match.self ? [topology.nodeName] : []);
  for (const part of parts) for (const node of part) nodes.add(node);
  return nodes;
}

/** Warnings about a key on this node that do not depend on endpoints. */
export function warnOfKey(topology: Topology, key: string): Warning[] {
  const match = topology.matchOf(key);
  if (key === ANY_KEY || key === HOSTNAME_KEY || match === undefined) return [];
  const warnings: Warning[] = [];
  for (const selector of match.selectors) {
    const set = topology.nodeSets.get(selector);
    if (set?.refusal === undefined) continue;
    warnings.push({
      code: 'node-set-refused',
      severity: 'warning',
      message: `${reasonOf(set)} nodes with ${selector}, which ${key} needs; ${consequenceOfRefusal(set)}: ${set.refusal}`,
    });
  }
  const empty = warnOfEmpty(topology, key, match);
  if (empty !== undefined) warnings.push(empty);
  return warnings;
}

function reasonOf({ state }: Readonly<NodeSet>): string {
  return state === 'overLimit'
    ? 'the wrapper does not watch'
    : 'the API server does not let the wrapper read';
}

function warnOfEmpty(topology: Topology, key: string, match: TopologyMatch): Warning | undefined {
  if (key === COMMUNITY_KEY && !match.self) {
    return {
      code: 'community-empty',
      severity: 'warning',
      message: `${key} matches nothing: node ${topology.nodeName} is in no community`,
    };
  }
  if (key !== CLOUD_KEY && !match.self) {
    return warnOfOwnLabel(topology.nodeName, key);
  }
  const sets = match.selectors.map((selector) => topology.nodeSets.get(selector));
  // Nodes that may not be read may exist.
  if (sets.some((set) => set?.refusal !== undefined)) return undefined;
  const nodes = nodesOf(topology, match);
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

/** A label that is probably misspelt must not be put on nodes. */
function warnOfOwnLabel(node: string, key: string): Warning {
  const about = `${key} matches nothing: node ${node} has no such label`;
  const similar = similarKey(key);
  if (similar !== undefined) {
    const message = `${about}; did you mean ${similar}?`;
    return { code: 'key-misspelt', severity: 'warning', message };
  }
  const message = `${about} (kubectl label node ${node} ${key}=…)`;
  return { code: 'own-label-missing', severity: 'warning', message };
}
