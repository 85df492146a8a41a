import { z } from 'zod';
import { WrapperError } from '../errors.ts';
import { DEFAULT_READ_LIMITS } from '../proxy/api/read-limits.ts';
import { addressText } from '../proxy/util/address.ts';
import {
  assertAllowedKeys,
  DEFAULT_ALLOWED_KEYS,
  isKeyPattern,
} from '../topology/policy/allowed-keys.ts';
import { isLabelKey, isLabelValue, isSubdomain } from '../topology/policy/label.ts';
import { parseLabelSelector } from '../topology/policy/label-selector.ts';
import {
  ANY_KEY,
  assertTopologyKeys,
  type KeyChoice,
  PRESETS,
} from '../topology/policy/topology-keys.ts';
import { DEFAULT_MAX_NODE_SETS } from '../topology/state/node-set-registry.ts';
import { https } from './https-settings.ts';
import { address, meet, optionalLoopback, positive, seconds } from './setting-types.ts';

/** Runs a parser that throws, and reports what it says. */
function parsed<In, Out>(parse: (value: In) => Out) {
  return (value: In, context: z.RefinementCtx): Out => {
    try {
      return parse(value);
    } catch (error) {
      const { message } = WrapperError.from(error, 'InvalidSettings');
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }
  };
}

const presetNames = Object.keys(PRESETS);
const presetList = presetNames.join(', ');
/** An array of topology keys, or the name of a preset. */
const keyChoice = z
  .union([z.array(z.string()).meta({ maxItems: 16 }), z.string().meta({ enum: presetNames })], {
    error: `must be an array of topology keys, or one of ${presetList}`,
  })
  .transform(
    parsed((choice): KeyChoice => {
      if (typeof choice !== 'string') {
        assertTopologyKeys(choice);
        return { keys: choice };
      }
      const preset = Object.hasOwn(PRESETS, choice) ? PRESETS[choice] : undefined;
      if (preset !== undefined) return preset;
      throw new WrapperError('InvalidSettings', `no such preset; there are ${presetList}`);
    }),
  );

const labelKey = z.string().refine(isLabelKey, 'is no label key');
const labelValue = z.string().min(1).refine(isLabelValue, 'is no label value');
const server = z
  .string()
  .meta({ pattern: '^https?://' })
  .transform((text, context) => {
    const url = URL.parse(text);
    const plain = url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash === '';
    if (plain && url.username + url.password === '') return url;
    const message = 'must be the URL of an API server, without a user';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });

const communities = z.strictObject({
  nodeLabels: z
    .array(labelKey)
    .default([])
    .describe('Labels of nodes whose value is the community.'),
  labelPrefix: z
    .string()
    .refine(
      (prefix) => prefix === '' || (prefix.includes('/') && isLabelKey(`${prefix}a`)),
      'is no prefix of label keys, such as community.example.com/',
    )
    .default('community.kube-proxy-wrapper.io/')
    .describe('Labels `<prefix><community>: "true"`; empty: none.'),
  labelValues: z
    .array(labelValue)
    .default([])
    .describe('Labels `<community>: <one of these values>`.'),
  fabedgeCluster: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Name of this cluster in FabEdge's communities, which it needs the right to watch; absent: these are not read.",
    ),
});

const edge = z.strictObject({
  labelSelector: z
    .string()
    .transform(parsed(parseLabelSelector))
    .prefault('node-role.kubernetes.io/edge')
    .describe('Which nodes are edge nodes.'),
});

const cloud = z.strictObject({
  mode: z
    .enum(['endpoints', 'passthrough'])
    .default('endpoints')
    .describe(
      'What an edge node gets of a Service whose traffic all goes to the cloud: its endpoints, or nothing at all.',
    ),
});

const serviceFilter = z.strictObject({
  mode: z
    .enum(['FilterIfLabelExists', 'FilterIfLabelDoesNotExists'])
    .describe('As in its own setting of this name.'),
  label: labelKey
    .default('service.edgemesh.kubeedge.io/service-proxy-name')
    .describe('The label that the modes look at.'),
});

const minReady = z
  .record(z.string(), positive)
  .refine(
    (counts) => Object.keys(counts).every((key) => key === ANY_KEY || isLabelKey(key)),
    'has a key that is no topology key',
  );

/**
 * Everything that can be set, with default and meaning; docs/settings.md and the chart's schema of values are
 * made from it. The keys are those of the settings file; of a number the end of its name says the unit.
 */
export const settingsShape = z.strictObject({
  // A host's name may have capitals; kubelet makes the Node's of it without.
  nodeName: z
    .string()
    .trim()
    .toLowerCase()
    .refine(
      isSubdomain,
      'is no name that a Node can have: at most 253 letters, digits, - and ., with a letter or digit at both ends of each part',
    )
    .describe('Name of the Node this runs on, as in the API.'),
  kubeconfig: z
    .string()
    .min(1)
    .optional()
    .describe('Path of the kubeconfig for the API server; absent: in-cluster.'),
  servers: z
    .array(server)
    .max(16)
    .prefault([])
    .describe(
      'Further API servers of the same cluster, in order of preference after that of the kubeconfig, with the same certificate authority and the same credentials.',
    ),
  listen: optionalLoopback
    .prefault('127.0.0.1:10360')
    .describe(
      'Where kube-proxy reaches the wrapper by plain http; loopback only. `none`: by https only.',
    ),
  https: https.optional().describe('The https listener (identity.md); absent: there is none.'),
  adminListen: address
    .prefault('127.0.0.1:10361')
    .describe('Where `/healthz`, `/readyz`, `/metrics` and `/explain` are.'),
  logLevel: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('Least severe lines that are logged.'),
  defaultTopologyKeys: keyChoice
    .prefault([])
    .describe(
      "Keys, or a preset's name, of Services without the annotation; empty: these are left alone.",
    ),
  allowedTopologyKeys: z
    .array(
      z
        .string()
        .refine(isKeyPattern, 'is not a label key, a prefix ending in *, or one of these after !'),
    )
    .default([...DEFAULT_ALLOWED_KEYS])
    .describe(
      'Label keys that policies may use: a key, a prefix that ends in `*`, or one of these after `!`; the last one that matches counts. A policy with another key is invalid.',
    ),
  namespacePolicies: z
    .boolean()
    .default(false)
    .describe(
      'Read the annotation topologyKeys of Namespaces too; needs the right to watch these.',
    ),
  compatibility: z
    .array(z.enum(['openyurt', 'kubeedge']))
    .default([])
    .describe('Others whose annotations of Services are read.'),
  headless: z.boolean().default(false).describe('Filter headless Services too.'),
  communities: communities
    .prefault({})
    .describe('Where communities come from, for the key kube-proxy-wrapper.io/community.'),
  edge: edge.prefault({}).describe('Which nodes are edge nodes.'),
  cloud: cloud.prefault({}).describe('Services whose traffic all goes to the cloud.'),
  serviceFilter: serviceFilter
    .optional()
    .describe('Hides Services that EdgeMesh serves, told by a label; absent: none.'),
  minReady: minReady
    .default({})
    .describe('Ready endpoints that a topology key needs to count, by key.'),
  returnDelaySeconds: z
    .number()
    .min(0)
    .max(86_400)
    .default(0)
    .describe('A nearer key is returned to only when it was ready for this long.'),
  dryRun: z
    .boolean()
    .default(false)
    .describe('Decide and explain, but show everything: to see what would be.'),
  policyEvents: z
    .boolean()
    .default(false)
    .describe(
      'Write an Event on each Service whose policy is invalid, once for all nodes; one that is refused is only counted.',
    ),
  windowEntries: positive
    .default(10_000)
    .describe('The least number of changes that each view remembers for clients that fall behind.'),
  windowBytes: positive.default(32 * 1024 * 1024).describe('The least that these may take.'),
  maxViews: positive
    .default(64)
    .describe(
      'Different queries of other clients than kube-proxy that are served at once; one more takes the place of one that nobody has used for 5 seconds, or gets 503. One https caller may have a quarter.',
    ),
  maxViewBytes: positive
    .default(128 * 1024 * 1024)
    .describe(
      'Memory that these may take together, as estimated; a view that needs more is closed, and its clients get 503. One https caller may have a quarter.',
    ),
  maxNodeSets: positive
    .default(DEFAULT_MAX_NODE_SETS)
    .describe(
      'Label values whose nodes are watched at once; a policy that needs one more takes only this node for its nodes.',
    ),
  idleViewSeconds: seconds
    .default(300)
    .describe('A view that nobody asks for is closed after this.'),
  readyWaitSeconds: seconds
    .default(5)
    .describe('How long a request waits for its view to be complete, before it gets 503.'),
  bookmarkSeconds: seconds.default(60).describe('Time between bookmarks of a watch.'),
  stalledClientSeconds: seconds
    .default(60)
    .describe('A list or watch whose client takes nothing for this long is broken off.'),
  maxObjectBytes: positive
    .default(DEFAULT_READ_LIMITS.maxObjectBytes)
    .describe('One object of the API server, in a list or in a watch.'),
  maxListBytes: positive
    .default(DEFAULT_READ_LIMITS.maxListBytes)
    .describe(
      'One LIST of the API server, gunzipped; also all those together that kube-proxy and the wrapper itself need at a time.',
    ),
  maxObjects: positive.default(DEFAULT_READ_LIMITS.maxObjects).describe('Objects of one question.'),
  stateDir: z
    .string()
    .min(1)
    .optional()
    .describe(
      'Folder in which the last known state is kept, for a start while the API server is out of reach; absent: nowhere.',
    ),
  stateMaxBytes: positive.default(256 * 1024 * 1024).describe('What that may take on disk.'),
  stateWriteBytesPerSecond: positive
    .default(100_000)
    .describe('What each question may write there in the long run.'),
  stateGraceSeconds: seconds
    .default(1)
    .describe(
      'How long the API server may be out of reach at the start before what is on disk stands in.',
    ),
  maxConnections: positive
    .default(256)
    .describe(
      'Connections of each listener with a request under way; one more request gets 503. Idle and incomplete connections give way to new ones.',
    ),
  maxHeaderBytes: positive.default(16 * 1024).describe('The headers of a request; more get 431.'),
  headersTimeoutSeconds: seconds
    .default(10)
    .describe(
      'For the headers of a request to arrive, else 408; over https first for the TLS handshake, else closed; not more than requestTimeoutSeconds; on the admin port at most 2.',
    ),
  requestTimeoutSeconds: seconds
    .default(60)
    .describe('For a whole request to arrive, else 408; on the admin port at most 2.'),
  forwardEvents: z
    .boolean()
    .default(true)
    .describe("Forward kube-proxy's own Events over plain http; without it they get 403."),
  maxEventBytes: positive
    .default(4096)
    .describe('An Event that kube-proxy writes over plain http; a larger one gets 413.'),
  handoverSeconds: z
    .number()
    .int()
    .nonnegative()
    .default(0)
    .describe(
      'On SIGTERM, go on until the next process listens at the same addresses, but no longer than this.',
    ),
});

/** The same with what concerns several of them. */
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
    if (settings.headersTimeoutSeconds > settings.requestTimeoutSeconds) {
      issue('headersTimeoutSeconds', 'must not be more than requestTimeoutSeconds');
    }
    // Listeners share ports with the next process, so the kernel would give each connection to any of them.
    const addresses = [
      ['listen', listen],
      ['https.listen', https?.listen],
      ['adminListen', settings.adminListen],
    ] as const;
    for (const [index, [name, one]] of addresses.entries()) {
      for (const [otherName, other] of addresses.slice(index + 1)) {
        if (one === undefined || other === undefined || !meet(one, other)) continue;
        issue(name, `takes the port of ${otherName}, ${addressText(other)}; each needs its own`);
      }
    }
  },
);
