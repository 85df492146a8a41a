import { z } from 'zod';
import { WrapperError } from '../errors.ts';
import { DEFAULT_READ_LIMITS } from '../proxy/api/read-limits.ts';
import { addressText } from '../proxy/util/address.ts';
import {
  assertAllowedKeys,
  DEFAULT_ALLOWED_KEYS,
  isKeyPattern,
} from '../topology/policy/allowed-keys.ts';
import { isSubdomain } from '../topology/policy/label.ts';
import { DEFAULT_MAX_NODE_SETS } from '../topology/state/node-set-registry.ts';
import { https } from './https-settings.ts';
import { cloud, communities, edge, keyChoice, minReady, serviceFilter } from './policy-settings.ts';
import {
  address,
  apiServer,
  optionalLoopback,
  overlap,
  positive,
  seconds,
  socketPath,
} from './setting-types.ts';

/**
 * All settings with default and meaning. docs/settings.md and the chart's values.schema.json are generated from it.
 * The keys are those of the settings file. The end of a number's name is its unit, such as Seconds or Bytes.
 */
export const settingsShape = z.strictObject({
  // A host name may have capitals. kubelet converts it to lower case for the name of the Node.
  nodeName: z
    .string()
    .trim()
    .toLowerCase()
    .refine(
      isSubdomain,
      'is not a valid name of a Node: at most 253 letters, digits, - and ., with a letter or digit at both ends of each part',
    )
    .describe('Name of the Node on which the wrapper runs, as in the API.'),
  kubeconfig: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Path of the wrapper's kubeconfig. If absent, the wrapper uses its service account (in-cluster).",
    ),
  servers: z
    .array(apiServer)
    .max(16)
    .prefault([])
    .describe(
      'Further API servers of the same cluster, in order of preference after the server of the kubeconfig. They use the same CA and the same credentials.',
    ),
  listen: optionalLoopback
    .prefault('127.0.0.1:10360')
    .describe(
      'Address for kube-proxy, plain http, loopback only. `none` leaves only the https listener.',
    ),
  https: https
    .optional()
    .describe('The https listener (see identity.md). If absent, there is none.'),
  adminListen: address
    .prefault('127.0.0.1:10361')
    .describe(
      'Address of the admin listener: the page, `/healthz`, `/readyz`, `/metrics` and `/explain`.',
    ),
  logLevel: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Lowest severity that is logged.'),
  defaultTopologyKeys: keyChoice
    .prefault([])
    .describe(
      'Topology keys, or the name of a preset, for Services that have neither an annotation nor trafficDistribution. If empty, these Services are not filtered.',
    ),
  allowedTopologyKeys: z
    .array(
      z
        .string()
        .refine(isKeyPattern, 'is not a label key, a prefix ending in *, or one of these after !'),
    )
    .default([...DEFAULT_ALLOWED_KEYS])
    .describe(
      'Label keys that policies may use: a key, or a prefix that ends in `*`. A `!` before either excludes it. The last match counts. A policy with another key is invalid.',
    ),
  namespacePolicies: z
    .boolean()
    .default(false)
    .describe(
      'Read the annotation topologyKeys of Namespaces too. The wrapper needs the right to watch Namespaces.',
    ),
  compatibility: z
    .array(z.enum(['openyurt', 'kubeedge']))
    .default([])
    .describe('Other projects whose Service annotations are read too.'),
  headless: z.boolean().default(false).describe('Filter headless Services too.'),
  communities: communities
    .prefault({})
    .describe('How communities are defined, for the key kube-proxy-wrapper.io/community.'),
  edge: edge.prefault({}).describe('Defines the edge nodes.'),
  cloud: cloud
    .prefault({})
    .describe('How Services that send all their traffic to the cloud are shown on edge nodes.'),
  serviceFilter: serviceFilter
    .optional()
    .describe(
      'Hides the Services that EdgeMesh serves, selected by a label. If absent, none is hidden.',
    ),
  minReady: minReady
    .default({})
    .describe('Minimum number of ready endpoints with which a topology key can win, by key.'),
  returnDelaySeconds: z
    .number()
    .min(0)
    .max(86_400)
    .default(0)
    .describe('A Service returns to a nearer key only after that key was ready for this long.'),
  dryRun: z
    .boolean()
    .default(false)
    .describe('Decide and explain, but show all endpoints. Use it to try policies.'),
  windowEntries: positive
    .default(10_000)
    .describe('Number of changes that each view keeps at least, for clients that fall behind.'),
  windowBytes: positive
    .default(32 * 1024 * 1024)
    .describe('Bytes of changes that each view keeps at least.'),
  maxViews: positive
    .default(64)
    .describe(
      'Different queries, from clients other than kube-proxy, that are served at the same time. One more replaces a view that no client has used for 5 seconds, or gets 503. One https caller may read a quarter of them.',
    ),
  maxViewBytes: positive
    .default(128 * 1024 * 1024)
    .describe(
      'Estimated memory that the views of `maxViews` may use together. A view that needs more is closed, and its clients get 503.',
    ),
  maxNodeSets: positive
    .default(DEFAULT_MAX_NODE_SETS)
    .describe(
      'Label values whose nodes are watched at the same time. If a policy needs one more, its key matches this node only.',
    ),
  idleViewSeconds: seconds
    .default(300)
    .describe('A view without clients is closed after this time.'),
  bookmarkSeconds: seconds.default(60).describe('Time between the bookmarks of a watch.'),
  maxListBytes: positive
    .default(DEFAULT_READ_LIMITS.maxListBytes)
    .describe(
      'Maximum size of one LIST from the API server, uncompressed. It is also the limit of all LISTs together that kube-proxy and the wrapper itself need at the same time.',
    ),
  stateDir: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder for the last known state. A wrapper that starts while the API server is unreachable uses it. If absent, nothing is saved.',
    ),
  stateMaxBytes: positive
    .default(256 * 1024 * 1024)
    .describe('Maximum size of `stateDir` on disk.'),
  localRuntime: socketPath
    .optional()
    .describe(
      'CRI socket of the container runtime, a path or `unix://` and a path. While the API server is unreachable, endpoints of this node are corrected from it. Its rights are those of root. If absent, none is.',
    ),
  maxConnections: positive
    .default(256)
    .describe(
      'Connections with an active request, for each listener. One more request gets 503. New connections replace idle and incomplete ones.',
    ),
  handoverSeconds: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe(
      'On SIGTERM, continue until the next process listens at the same addresses, but at most this long.',
    ),
});

/** The same, with the rules that concern several settings. */
export const settingsSchema = settingsShape.superRefine(
  ({ listen, https, ...settings }, context) => {
    const issue = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: path.split('.'), message });
    try {
      assertAllowedKeys(settings.defaultTopologyKeys.keys, settings.allowedTopologyKeys);
    } catch (error) {
      issue('defaultTopologyKeys', WrapperError.from(error, 'InvalidSettings').message);
    }
    if (listen === undefined && https === undefined) issue('listen', 'needs https to be set');
    // Ports are shared with the next process. Two listeners on one port would each get some of the connections.
    const addresses = [
      ['listen', listen],
      ['https.listen', https?.listen],
      ['adminListen', settings.adminListen],
    ] as const;
    for (const [index, [name, one]] of addresses.entries()) {
      for (const [otherName, other] of addresses.slice(index + 1)) {
        if (one === undefined || other === undefined || !overlap(one, other)) continue;
        issue(
          name,
          `uses the port of ${otherName}, ${addressText(other)}; each listener needs its own port`,
        );
      }
    }
  },
);
