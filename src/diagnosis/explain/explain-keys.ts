import { similarKey } from '../../topology/policy/similar-key.ts';
import {
  ANY_KEY,
  CLOUD_KEY,
  COMMUNITY_KEY,
  HOSTNAME_KEY,
  ZONE_KEY,
} from '../../topology/policy/topology-keys.ts';
import { consequenceOfRefusal } from '../../topology/state/node-set.ts';
import type { Topology } from '../../topology/state/topology.ts';
import { ownValue, type TopologyMatch } from '../../topology/state/topology-match.ts';
import { type Problem, problem, problemOfKey } from '../catalogue.ts';
import type { KeyExplanation } from './explanation.ts';

/** Explains what a key matches on this node. @param nodes what {@link nodesOfKey} returns, if the caller has it */
export function explainKey(
  topology: Topology,
  key: string,
  nodes = nodesOfKey(topology, key),
): KeyExplanation {
  const matchesThisNode = key === ANY_KEY || topology.matchOf(key)?.self === true;
  return { key, meaning: meaningOf(topology, key), matchesThisNode, nodes: nodes?.size };
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
  return `nodes with ${key}=${value}`;
}

/** Nodes known to match a key now; undefined if a node set is not known, and for a key that matches any endpoint. */
export function nodesOfKey(topology: Topology, key: string): ReadonlySet<string> | undefined {
  const match = topology.matchOf(key);
  if (key === ANY_KEY || match === undefined) return undefined;
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
export function warnOfKey(topology: Topology, key: string): Problem[] {
  const match = topology.matchOf(key);
  if (key === ANY_KEY || key === HOSTNAME_KEY || match === undefined) return [];
  const warnings: Problem[] = [];
  for (const selector of match.selectors) {
    const set = topology.nodeSets.get(selector);
    if (set?.refusal === undefined) continue;
    const needs = `${key} needs nodes with ${selector}`;
    warnings.push(
      set.state === 'overLimit'
        ? problem('node-set-limit', `${needs}: ${set.refusal}`)
        : problem('node-set-refused', `${needs}; ${consequenceOfRefusal(set)}: ${set.refusal}`),
    );
  }
  const empty = warnOfEmpty(topology, key, match);
  if (empty !== undefined) warnings.push(empty);
  return warnings;
}

function warnOfEmpty(topology: Topology, key: string, match: TopologyMatch): Problem | undefined {
  const node = topology.nodeName;
  if (key === COMMUNITY_KEY && !match.self) return problem('community-empty', key);
  if (key !== CLOUD_KEY && !match.self) {
    // A label that is probably misspelt must not be put on nodes.
    const similar = similarKey(key, topology.nodeContext?.labels.keys());
    return similar === undefined
      ? problem('own-label-missing', `${key} (kubectl label node ${node} ${key}=…)`)
      : problemOfKey('key-misspelt', key, similar);
  }
  const sets = match.selectors.map((selector) => topology.nodeSets.get(selector));
  // Nodes that may not be read may exist.
  if (sets.some((set) => set?.refusal !== undefined)) return undefined;
  const nodes = nodesOfKey(topology, key);
  if (nodes === undefined) return undefined;
  if (nodes.size === 0) return problem('key-without-nodes', key);
  return nodes.size === 1 && nodes.has(node) ? problem('no-other-node', key) : undefined;
}
