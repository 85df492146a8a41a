import { isLabelKey, isLabelValue } from '../policy/label.ts';
import {
  type LabelSelector,
  matchesLabels,
  negate,
  valuesSelector,
} from '../policy/label-selector.ts';
import {
  ANY_KEY,
  CLOUD_KEY,
  COMMUNITY_KEY,
  HOSTNAME_KEY,
  ZONE_KEY,
} from '../policy/topology-keys.ts';

/** Where communities come from. Sources add up: the same name in two sources is the same community. */
export interface CommunitySettings {
  /** Labels whose value is the node's community. */
  readonly nodeLabels: readonly string[];
  /** Labels `<prefix><community>: "true"`; empty: none. */
  readonly labelPrefix: string;
  /** Labels `<community>: <one of these values>`. */
  readonly labelValues: readonly string[];
}

/** What a topology key compares besides equal labels. */
export interface TopologyMatchSettings {
  readonly communities: CommunitySettings;
  /** Matches edge nodes; all other nodes are cloud nodes. */
  readonly edge: LabelSelector;
}

/** What the match of a topology key depends on: this node in one state. */
export interface NodeContext {
  /** Name of this node. */
  readonly node: string;
  readonly labels: ReadonlyMap<string, string>;
  /** Filtering is switched off on this node. */
  readonly off: boolean;
  /** Communities that are declared with all their members, by name. */
  readonly declared: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Whether two node contexts are equal. Declared communities are compared by identity. */
export function sameNodeContext(a: NodeContext | undefined, b: NodeContext): boolean {
  if (a === undefined || a.off !== b.off || a.declared !== b.declared) return false;
  if (a.labels.size !== b.labels.size) return false;
  for (const [key, value] of b.labels) if (a.labels.get(key) !== value) return false;
  return true;
}

/** The nodes that a topology key matches in a node context. */
export interface TopologyMatch {
  /** This node is among them. */
  readonly self: boolean;
  /** Label selectors of the node sets that are among them. */
  readonly selectors: readonly string[];
  /** Nodes that are among them because a community declares them. */
  readonly nodes: ReadonlySet<string>;
}

const NO_NODES: ReadonlySet<string> = new Set();
const THIS_NODE: TopologyMatch = { self: true, selectors: [], nodes: NO_NODES };
const NO_MATCH: TopologyMatch = { self: false, selectors: [], nodes: NO_NODES };

/** The nodes that a topology key matches. Must not be used for `*`, which matches all nodes. Pure. */
export function topologyMatchOf(
  key: string,
  context: NodeContext,
  settings: TopologyMatchSettings,
): TopologyMatch {
  if (key === HOSTNAME_KEY || key === ANY_KEY) return THIS_NODE;
  if (key === COMMUNITY_KEY) return communityMatch(context, settings.communities);
  if (key === CLOUD_KEY) {
    const selectors = negate(settings.edge);
    return { self: !isEdge(context, settings), selectors, nodes: NO_NODES };
  }
  const value = ownValue(key, context);
  if (value === undefined) return NO_MATCH;
  return { self: true, selectors: [valuesSelector(key, '=', [value])], nodes: NO_NODES };
}

/**
 * The value of a label key that matches nodes; undefined: it matches none. An empty value is a value, except of the
 * zone: a node with an empty zone is in none, as in kube-proxy (pkg/proxy/topology.go).
 */
export function ownValue(key: string, { labels }: NodeContext): string | undefined {
  const value = labels.get(key);
  return key === ZONE_KEY && value === '' ? undefined : value;
}

/** Whether this node is an edge node. */
export function isEdge({ labels }: NodeContext, { edge }: TopologyMatchSettings): boolean {
  return matchesLabels(edge, labels);
}

/** The communities that this node is in, from all sources, sorted. */
export function communitiesOf(
  context: NodeContext,
  settings: CommunitySettings,
): readonly string[] {
  const names = new Set<string>();
  for (const key of settings.nodeLabels) {
    const value = context.labels.get(key);
    if (value !== undefined && value !== '') names.add(value);
  }
  const { labelPrefix, labelValues } = settings;
  for (const [key, value] of context.labels) {
    if (labelValues.includes(value)) names.add(key);
    if (labelPrefix === '' || !key.startsWith(labelPrefix) || value !== 'true') continue;
    names.add(key.slice(labelPrefix.length));
  }
  for (const [name, members] of context.declared) if (members.has(context.node)) names.add(name);
  return [...names].sort();
}

/** Two nodes may share a community by different sources, so every source is searched for every own community. */
function communityMatch(context: NodeContext, settings: CommunitySettings): TopologyMatch {
  const names = communitiesOf(context, settings);
  const selectors = new Set<string>();
  // A name that is not a valid label value or key cannot be on any node.
  const values = names.filter((name) => isLabelValue(name));
  if (values.length > 0) {
    for (const key of settings.nodeLabels) selectors.add(valuesSelector(key, '=', values));
  }
  for (const name of names) {
    const prefixed = `${settings.labelPrefix}${name}`;
    if (settings.labelPrefix !== '' && isLabelKey(prefixed)) selectors.add(`${prefixed}=true`);
    if (settings.labelValues.length > 0 && isLabelKey(name)) {
      selectors.add(valuesSelector(name, '=', settings.labelValues));
    }
  }
  const nodes = new Set<string>();
  for (const name of names) for (const node of context.declared.get(name) ?? []) nodes.add(node);
  return { self: names.length > 0, selectors: [...selectors], nodes };
}
