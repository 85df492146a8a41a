import { readFileSync } from 'node:fs';
import { loadAll } from 'js-yaml';
import { z } from 'zod';
import { WrapperError } from '../errors.ts';
import { DEFAULT_READ_BOUNDS } from '../proxy/read-bounds.ts';
import { isLabelKey, isLabelValue } from '../topology/label.ts';
import { parseLabelSelector } from '../topology/label-selector.ts';
import { ANY_KEY, assertTopologyKeys, type KeyChoice, PRESETS } from '../topology/policy.ts';
import { https } from './https-settings.ts';
import { address, optionalAddress, positive } from './setting-types.ts';

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

const presetNames = Object.keys(PRESETS).join(', ');
/** An array of topology keys, or the name of a preset. */
const keyChoiceHelp = `must be an array of topology keys, or one of ${presetNames}`;
const keyChoice = z.union([z.array(z.string()), z.string()], { error: keyChoiceHelp }).transform(
  parsed((choice): KeyChoice => {
    if (typeof choice !== 'string') {
      assertTopologyKeys(choice);
      return { keys: choice };
    }
    const preset = Object.hasOwn(PRESETS, choice) ? PRESETS[choice] : undefined;
    if (preset !== undefined) return preset;
    throw new WrapperError('InvalidSettings', `no such preset; there are ${presetNames}`);
  }),
);

const labelKey = z.string().refine(isLabelKey, 'is no label key');
const labelValue = z.string().min(1).refine(isLabelValue, 'is no label value');
const server = z.string().transform((text, context) => {
  const url = URL.parse(text);
  const plain = url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash === '';
  if (plain && url.username + url.password === '') return url;
  context.addIssue({ code: 'custom', message: 'must be the URL of an API server, without a user' });
  return z.NEVER;
});

/** Everything that can be set, with its default. The keys are those of the settings file. */
const all = z.strictObject({
  /** Name of the Node this runs on, as in the API. Required. */
  nodeName: z.string().min(1),
  /** Path of the kubeconfig for the API server; absent: in-cluster. */
  kubeconfig: z.string().min(1).optional(),
  /**
   * Further API servers of the same cluster, in order of preference after that of the kubeconfig, with the
   * same certificate authority and the same credentials.
   */
  servers: z.array(server).max(16).default([]),
  /** Where kube-proxy reaches us by plain http; loopback only. `none`: by https only. */
  listen: optionalAddress.prefault('127.0.0.1:10360'),
  /** Where kube-proxy reaches us by https; absent: nowhere. */
  https: https.optional(),
  /** Health and metrics. */
  adminListen: address.prefault('127.0.0.1:10361'),
  logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** Keys of Services without the annotation; empty: these are left alone. */
  defaultTopologyKeys: keyChoice.default({ keys: [] }),
  /** Whether the annotation topologyKeys of Namespaces is read too; needs the right to watch these. */
  namespacePolicies: z.boolean().default(false),
  /** Others whose annotations of Services are read. */
  compatibility: z.array(z.enum(['openyurt', 'kubeedge'])).default([]),
  /** Whether headless Services are filtered too. */
  headless: z.boolean().default(false),
  /** Where communities come from, for the key kube-proxy-wrapper.io/community. */
  communities: z
    .strictObject({
      /** Labels of nodes whose value is the community. */
      nodeLabels: z.array(labelKey).default([]),
      /** Labels `<prefix><community>: "true"`; empty: none. */
      labelPrefix: z
        .string()
        .refine(
          (prefix) => prefix === '' || (prefix.includes('/') && isLabelKey(`${prefix}a`)),
          'is no prefix of label keys, such as community.example.com/',
        )
        .default('community.kube-proxy-wrapper.io/'),
      /** Labels `<community>: <one of these values>`. */
      labelValues: z.array(labelValue).default([]),
      /** Name of this cluster in FabEdge's communities; absent: these are not read. */
      fabedgeCluster: z.string().min(1).optional(),
    })
    .prefault({}),
  /** Which nodes are edge nodes. */
  edge: z
    .strictObject({
      labelSelector: z
        .string()
        .transform(parsed(parseLabelSelector))
        .prefault('node-role.kubernetes.io/edge'),
    })
    .prefault({}),
  cloud: z
    .strictObject({
      /** What an edge node gets of a Service whose traffic goes to the cloud: its endpoints, or nothing at all. */
      mode: z.enum(['endpoints', 'passthrough']).default('endpoints'),
    })
    .prefault({}),
  /** Hides Services that EdgeMesh serves, told by a label as in its own setting of this name; absent: none. */
  serviceFilter: z
    .strictObject({
      mode: z.enum(['FilterIfLabelExists', 'FilterIfLabelDoesNotExists']),
      label: labelKey.default('service.edgemesh.kubeedge.io/service-proxy-name'),
    })
    .optional(),
  /** Ready endpoints that a topology key needs to count, by key. */
  minReady: z
    .record(z.string(), positive)
    .refine(
      (counts) => Object.keys(counts).every((key) => key === ANY_KEY || isLabelKey(key)),
      'has a key that is no topology key',
    )
    .default({}),
  /** A nearer key is returned to only when it was ready for this long. */
  returnDelaySeconds: z.number().min(0).max(86_400).default(0),
  /** Decide and explain, but show everything: to see what would be. */
  dryRun: z.boolean().default(false),
  /** The least number of changes that each view remembers for clients that fall behind. */
  windowEntries: positive.default(10_000),
  /** The least that these may take, in bytes. */
  windowBytes: positive.default(32 * 1024 * 1024),
  /** Different questions that are served at once; one more is refused. */
  maxViews: positive.default(64),
  /** A view that nobody asks for is closed after this. */
  idleViewSeconds: positive.default(300),
  /** How long a request waits for its view to be complete, before it gets 503. */
  readyWaitSeconds: positive.default(5),
  /** Time between bookmarks of a watch. */
  bookmarkSeconds: positive.default(60),
  /** A watch whose client takes nothing for this long is ended. */
  stalledClientSeconds: positive.default(60),
  /** Bytes of one object of the API server, in a list or in a watch. */
  maxObjectBytes: positive.default(DEFAULT_READ_BOUNDS.maxObjectBytes),
  /** Bytes of one LIST of the API server. */
  maxListBytes: positive.default(DEFAULT_READ_BOUNDS.maxListBytes),
  /** Objects of one question. */
  maxObjects: positive.default(DEFAULT_READ_BOUNDS.maxObjects),
  /** Folder in which the last known state is kept, for a start while the API server is out of reach; absent: nowhere. */
  stateDir: z.string().min(1).optional(),
  /** Bytes that it may take on disk. */
  stateMaxBytes: positive.default(256 * 1024 * 1024),
  /** Bytes per second that each question may write there in the long run. */
  stateWriteBytesPerSecond: positive.default(100_000),
  /** How long the API server may be out of reach at the start before what is on disk stands in. */
  stateGraceSeconds: positive.default(1),
  /** Connections that each listener serves at once; one more gets 503. */
  maxConnections: positive.default(256),
  /** The headers of a request may take so many bytes, else 431. */
  maxHeaderBytes: positive.default(16 * 1024),
  /** The headers of a request have to arrive within this time, else 408. */
  headersTimeoutSeconds: positive.default(10),
  /** A whole request has to arrive within this time, else 408. */
  requestTimeoutSeconds: positive.default(60),
  /** An event that kube-proxy writes over plain http may take so many bytes, else 413. */
  maxEventBytes: positive.default(1024 * 1024),
  /** On SIGTERM, go on until the next process listens at the same addresses, but no longer than this. */
  handoverSeconds: z.number().int().nonnegative().default(0),
});

const schema = all.superRefine(({ listen, https, ...settings }, context) => {
  const issue = (path: string, message: string) =>
    context.addIssue({ code: 'custom', path: [path], message });
  if (listen === undefined && https === undefined) issue('listen', 'needs https to be set');
  if (settings.headersTimeoutSeconds > settings.requestTimeoutSeconds) {
    issue('headersTimeoutSeconds', 'must not be more than requestTimeoutSeconds');
  }
});

export type Settings = z.output<typeof schema>;

/** Settings as they come from flags, the environment or the file: none of them checked. */
export type RawSettings = Record<string, unknown>;

/**
 * Puts the settings together: flags over environment (`NODE_NAME`, `KUBECONFIG`) over file over defaults.
 * Throws `InvalidSettings` with one line that names every key that is unknown or has a bad value.
 */
export function loadSettings(
  flags: RawSettings,
  environment: NodeJS.ProcessEnv,
  file: string | undefined,
): Settings {
  const merged = {
    ...(file === undefined ? {} : readSettingsFile(file)),
    ...present({ nodeName: environment.NODE_NAME, kubeconfig: environment.KUBECONFIG }),
    ...present(flags),
  };
  const result = schema.safeParse(merged);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => describe(issue, merged));
  throw new WrapperError('InvalidSettings', `invalid settings: ${problems.join('; ')}`);
}

function readSettingsFile(file: string): RawSettings {
  let content: unknown;
  try {
    [content] = loadAll(readFileSync(file, 'utf8'));
  } catch (cause) {
    const { message } = WrapperError.from(cause, 'InvalidSettings');
    throw new WrapperError(
      'InvalidSettings',
      `cannot read the settings file ${file}: ${message.split('\n', 1)[0]}`,
      { cause },
    );
  }
  if (content === undefined || content === null) return {};
  if (typeof content === 'object' && !Array.isArray(content)) return content as RawSettings;
  throw new WrapperError(
    'InvalidSettings',
    `the settings file ${file} holds no mapping of settings`,
  );
}

/** An empty variable or a flag not given is no setting. */
function present(values: RawSettings): RawSettings {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return Object.fromEntries(given);
}

function describe(issue: z.core.$ZodIssue, merged: RawSettings): string {
  const key = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((each) => (key === '' ? each : `${key}.${each}`));
    return `unknown key ${keys.join(', ')}`;
  }
  if (key === 'nodeName' && merged.nodeName === undefined) {
    return 'no node name: give --node-name, NODE_NAME or nodeName';
  }
  return `${key}=${JSON.stringify(valueAt(merged, issue.path))}: ${issue.message}`;
}

function valueAt(settings: RawSettings, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined,
    settings,
  );
}
