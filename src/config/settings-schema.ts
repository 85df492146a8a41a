import * as v from 'valibot';
import { DEFAULT_READ_LIMITS } from '../client/api/read-limits.ts';
import {
  assertAllowedKeys,
  DEFAULT_ALLOWED_KEYS,
  isKeyPattern,
} from '../topology/policy/allowed-keys.ts';
import { isSubdomain } from '../topology/policy/label.ts';
import { DEFAULT_MAX_NODE_SETS } from '../topology/state/node-set-registry.ts';
import { addressText } from '../util/address.ts';
import { messageOf } from '../util/message-of.ts';
import { https } from './https-settings.ts';
import { cloud, communities, edge, keyChoice, minReady, serviceFilter } from './policy-settings.ts';
import {
  address,
  apiServer,
  described,
  flag,
  mapping,
  nonEmpty,
  notNegative,
  optionalLoopback,
  overlap,
  positive,
  relayServer,
  serviceName,
  socketPath,
} from './setting-types.ts';

// A host name may have capitals. kubelet converts it to lower case for the name of the Node.
const nodeName = v.pipe(
  v.string(),
  v.trim(),
  v.toLowerCase(),
  v.check(
    isSubdomain,
    'is not a valid name of a Node: at most 253 letters, digits, - and ., with a letter or digit at both ends of each part',
  ),
);

const relays = mapping('relays', {
  service: described(
    v.optional(serviceName),
    'NAMESPACE/NAME of the Service whose endpoints are relays. Its policy selects those of this site. Their certificate names NAME.NAMESPACE.svc. With `stateDir` a start knows the last ones.',
  ),
  servers: described(
    v.optional(
      v.pipe(
        v.array(relayServer),
        v.nonEmpty('must not be empty'),
        v.maxLength(16, 'must have at most 16 items'),
      ),
    ),
    'Deprecated: https URLs of the relays, instead of `service`.',
  ),
  caFile: described(
    nonEmpty,
    'Authority of the certificates of relays, PEM. The file is followed.',
  ),
});

const keyPattern = v.pipe(
  v.string(),
  v.check(isKeyPattern, 'is not a label key, a prefix ending in *, or one of these after !'),
);

/**
 * All settings with default and meaning. docs/settings.md and the chart's values.schema.json are generated from it.
 * The keys have the names of the settings file. The end of a number's name is its unit, such as Seconds or Bytes.
 */
export const settingsSchema = mapping('', {
  nodeName: described(nodeName, 'Name of the Node on which the wrapper runs, as in the API.'),
  kubeconfig: described(
    v.optional(nonEmpty),
    "Path of the wrapper's kubeconfig. If absent, the wrapper uses its service account (in-cluster).",
  ),
  servers: described(
    v.optional(v.pipe(v.array(apiServer), v.maxLength(16, 'must have at most 16 items')), []),
    'Further API servers of the same cluster, in order of preference after the server of the kubeconfig. They use the same CA and credentials.',
  ),
  relays: described(
    v.optional(relays),
    'Relays of this site, which are tried before the API servers (see relay.md). If absent, there are none.',
  ),
  listen: described(
    v.optional(optionalLoopback, '127.0.0.1:10360'),
    'Address for kube-proxy, plain http, loopback only. `none` leaves only the https listener.',
  ),
  https: described(
    v.optional(https),
    'The https listener (see identity.md). If absent, there is none.',
  ),
  adminListen: described(
    v.optional(address, '127.0.0.1:10361'),
    'Address of the admin listener: the page, `/healthz`, `/readyz`, `/metrics` and `/explain`.',
  ),
  logLevel: described(
    v.optional(v.picklist(['trace', 'debug', 'info', 'warn', 'error', 'silent']), 'info'),
    'Lowest severity that is logged.',
  ),
  defaultTopologyKeys: described(
    v.optional(keyChoice, []),
    'Topology keys, or the name of a preset, for Services that have neither an annotation nor trafficDistribution. If empty, these Services are not filtered.',
  ),
  allowedTopologyKeys: described(
    v.optional(v.array(keyPattern), [...DEFAULT_ALLOWED_KEYS]),
    'Label keys that policies may use: a key, or a prefix that ends in `*`. A `!` before either excludes it. The last match counts. A policy with another key is invalid.',
  ),
  namespacePolicies: described(
    v.optional(flag, false),
    'Read the annotations topologyKeys and filter of Namespaces too. The wrapper needs the right to watch Namespaces.',
  ),
  compatibility: described(
    v.optional(v.array(v.picklist(['openyurt', 'kubeedge'])), []),
    'Other projects whose Service annotations are read too.',
  ),
  headless: described(v.optional(flag, false), 'Filter headless Services too.'),
  communities: described(
    v.optional(communities, {}),
    'How communities are defined, for the key kube-proxy-wrapper.io/community.',
  ),
  edge: described(v.optional(edge, {}), 'Defines the edge nodes.'),
  cloud: described(
    v.optional(cloud, {}),
    'How Services that send all their traffic to the cloud are shown on edge nodes.',
  ),
  serviceFilter: described(
    v.optional(serviceFilter),
    'Hides the Services that EdgeMesh serves, selected by a label. If absent, none is hidden.',
  ),
  minReady: described(
    v.optional(minReady, {}),
    'Minimum number of ready endpoints with which a topology key can win, by key.',
  ),
  dryRun: described(
    v.optional(flag, false),
    'Decide and explain, but show all endpoints. Use it to try policies.',
  ),
  maxViews: described(
    v.optional(positive, 64),
    'Different queries, from clients other than kube-proxy, that are served at the same time. One more replaces a view that no client has used for 5 seconds, or gets 503. With https, one user may read a quarter of them, and plain http half.',
  ),
  maxViewBytes: described(
    v.optional(positive, 128 * 1024 * 1024),
    'Estimated memory that the views of `maxViews` may use together, half of it for one user over https. A view that needs more is closed, and its clients get 503.',
  ),
  maxNodeSets: described(
    v.optional(positive, DEFAULT_MAX_NODE_SETS),
    'Label values whose nodes are watched at the same time. Services whose policies need one more are unfiltered, and Namespaces take turns.',
  ),
  maxListBytes: described(
    v.optional(positive, DEFAULT_READ_LIMITS.maxListBytes),
    'Maximum size of one LIST from the API server, uncompressed, and of all LISTs together that kube-proxy and the wrapper need at the same time.',
  ),
  stateDir: described(
    v.optional(nonEmpty),
    'Folder for the last known state, an absolute path. A wrapper that starts while the API server is unreachable uses it. If absent, nothing is saved.',
  ),
  stateMaxBytes: described(
    v.optional(positive, 256 * 1024 * 1024),
    'Maximum size of `stateDir` on disk.',
  ),
  localRuntime: described(
    v.optional(socketPath),
    'CRI socket of the container runtime: a path, also with `unix://`. While the API server is unreachable, endpoints of this node are corrected from it. Its rights are those of root. If absent, nothing is corrected.',
  ),
  maxConnections: described(
    v.optional(positive, 256),
    'Connections with an active request, for each listener. One more request gets 503. New connections replace idle and incomplete ones.',
  ),
  handoverSeconds: described(
    v.optional(notNegative, 0),
    'On SIGTERM, continue until the next process listens at the same addresses, but at most this long.',
  ),
});

export type Settings = v.InferOutput<typeof settingsSchema>;

/** A setting, and what is wrong with it. */
export interface SettingProblem {
  readonly path: readonly string[];
  readonly message: string;
}

/** The rules that concern several settings. */
export function problemsBetween({ listen, https, ...settings }: Settings): SettingProblem[] {
  const problems: SettingProblem[] = [];
  try {
    assertAllowedKeys(settings.defaultTopologyKeys.keys, settings.allowedTopologyKeys);
  } catch (error) {
    const message = messageOf(error);
    problems.push({ path: ['defaultTopologyKeys'], message });
  }
  const { relays } = settings;
  if (relays !== undefined && (relays.service === undefined) === (relays.servers === undefined)) {
    problems.push({ path: ['relays'], message: 'needs service, or servers instead of it' });
  }
  if (listen === undefined && https === undefined) {
    problems.push({ path: ['listen'], message: 'needs https to be set' });
  }
  // Ports are shared with the next process. Two listeners on one port would each get some of the connections.
  const addresses = [
    ['listen', listen],
    ['https.listen', https?.listen],
    ['adminListen', settings.adminListen],
  ] as const;
  for (const [index, [path, one]] of addresses.entries()) {
    for (const [otherPath, other] of addresses.slice(index + 1)) {
      if (one === undefined || other === undefined || !overlap(one, other)) continue;
      const message = `uses the port of ${otherPath}, ${addressText(other)}; each listener needs its own port`;
      problems.push({ path: path.split('.'), message });
    }
  }
  return problems;
}
