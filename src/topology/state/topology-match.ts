import { isLabelKey, isLabelValue } from '../policy/label.ts';
import {
  type LabelSelector,
  matchesLabels,
  negate,
  valuesSelector,
} from '../policy/label-selector.ts';
import { ANY_KEY, CLOUD_KEY, COMMUNITY_KEY, HOSTNAME_KEY } from '../policy/policy.ts';

/** Where communities come from. Sources add up: a community is its name, whichever source tells it. */
export interface CommunitySettings {
  /** Labels whose value is the node's community. */
  readonly nodeLabels: readonly string[];
  /** Labels `<prefix><community>: "true"`; empty: none. */
  readonly labelPrefix: string;
  /** Labels `<community>: <one of these values>`. */
  readonly labelValues: readonly string[];
}

/** What relates two nodes beyond equal labels. */
export interface TopologyMatchSettings {
  readonly communities: CommunitySettings;
  /** An edge node matches this; all others are the cloud. */
  readonly edge: LabelSelector;
}

/** What is known of this node, in one state. */
export interface NodeContext {
  /** Name of this node. */
  readonly node: string;
  readonly labels: ReadonlyMap<string, string>;
  /** Filtering is switched off on this node. */
  readonly off: boolean;
  /** Communities that are declared with all their members, by name. */
  readonly declared: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Whether two standpoints are the same; that of declared communities is a matter of identity. */
export function sameNodeContext(a: NodeContext | undefined, b: NodeContext): boolean {
  if (a === undefined || a.off !== b.off || a.declared !== b.declared) return false;
  if (a.labels.size !== b.labels.size) return false;
  for (const [key, value] of b.labels) if (a.labels.get(key) !== value) return false;
  return true;
}

/** The nodes that a topology key matches from a standpoint. */
export interface TopologyMatch {
  /** This node is among them. */
  readonly self: boolean;
  /** Label selectors of the node sets that are among them. */
  readonly selectors: readonly string[];
  /** Nodes that are among them by declaration. */
  readonly nodes: ReadonlySet<string>;
}

const NO_NODES: ReadonlySet<string> = new Set();

/** The nodes that a topology key matches; `*` matches them all, and is not asked here. Pure. */
export function topologyMatchOf(
  key: string,
  from: NodeContext,
  settings: TopologyMatchSettings,
): TopologyMatch {
  if (key === HOSTNAME_KEY || key === ANY_KEY) {
    return { self: true, selectors: [], nodes: NO_NODES };
  }
  if (key === COMMUNITY_KEY) return communityRelation(from, settings.communities);
  if (key === CLOUD_KEY) {
    const selectors = negate(settings.edge);
    return { self: !isEdge(from, settings), selectors, nodes: NO_NODES };
  }
  const value = from.labels.get(key);
  if (value === undefined) return { self: false, selectors: [], nodes: NO_NODES };
  return { self: true, selectors: [valuesSelector(key, '=', [value])], nodes: NO_NODES };
}

/** Whether this node is an edge node. */
export function isEdge({ labels }: NodeContext, { edge }: TopologyMatchSettings): boolean {
  return matchesLabels(edge, labels);
}

/** The communities this node is in, from all sources, sorted. */
export function communitiesOf(from: NodeContext, settings: CommunitySettings): readonly string[] {
  const names = new Set<string>();
  for (const key of settings.nodeLabels) {
    const value = from.labels.get(key);
    if (value !== undefined && value !== '') names.add(value);
  }
  const { labelPrefix, labelValues } = settings;
  for (const [key, value] of from.labels) {
    if (labelValues.includes(value)) names.add(key);
    if (labelPrefix === '' || !key.startsWith(labelPrefix) || value !== 'true') continue;
    names.add(key.slice(labelPrefix.length));
  }
  for (const [name, members] of from.declared) if (members.has(from.node)) names.add(name);
  return [...names].sort();
}

/** Every source is asked for every own community, so that nodes share one whichever source names it. */
function communityRelation(from: NodeContext, settings: CommunitySettings): TopologyMatch {
  const names = communitiesOf(from, settings);
  const selectors = new Set<string>();
  // Names may be too long, or hold characters, for a label: then no node can carry it there.
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
  for (const name of names) for (const node of from.declared.get(name) ?? []) nodes.add(node);
  return { self: names.length > 0, selectors: [...selectors], nodes };
}
