import { readFileSync } from 'node:fs';
import { loadAll } from 'js-yaml';
import * as z from 'zod/mini';
import { WrapperError } from '../errors.ts';
import { DEFAULT_READ_BOUNDS } from '../proxy/read-bounds.ts';
import { isLabelKey, isLabelValue } from '../topology/label.ts';
import { parseLabelSelector } from '../topology/label-selector.ts';
import { ANY_KEY, assertTopologyKeys, type KeyChoice, PRESETS } from '../topology/policy.ts';
import { https } from './https-settings.ts';
import { address, optionalAddress, positive } from './setting-types.ts';

/** Runs a parser that throws, and reports what it says. */
function parsed<In, Out>(parse: (value: In) => Out) {
  return (value: In, context: z.core.ParsePayload): Out => {
    try {
      return parse(value);
    } catch (error) {
      const { message } = WrapperError.from(error, 'InvalidSettings');
      context.issues.push({ code: 'custom', message, input: value });
      return z.NEVER;
    }
  };
}

const presetNames = Object.keys(PRESETS).join(', ');
/** An array of topology keys, or the name of a preset. */
const keyChoiceHelp = `must be an array of topology keys, or one of ${presetNames}`;
const keyChoice = z.pipe(
  z.union([z.array(z.string()), z.string()], { error: keyChoiceHelp }),
  z.transform(
    parsed((choice: string[] | string): KeyChoice => {
      if (typeof choice !== 'string') {
        assertTopologyKeys(choice);
        return { keys: choice };
      }
      const preset = Object.hasOwn(PRESETS, choice) ? PRESETS[choice] : undefined;
      if (preset !== undefined) return preset;
      throw new WrapperError('InvalidSettings', `no such preset; there are ${presetNames}`);
    }),
  ),
);

const text = z.string().check(z.minLength(1));
const flag = z._default(z.boolean(), false);
const labelKey = z.string().check(z.refine(isLabelKey, 'is no label key'));
const labelValue = text.check(z.refine(isLabelValue, 'is no label value'));
const server = z.pipe(
  z.string(),
  z.transform((text: string, context) => {
    const url = URL.parse(text);
    const plain = url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash === '';
    if (plain && url.username + url.password === '') return url;
    const message = 'must be the URL of an API server, without a user';
    context.issues.push({ code: 'custom', message, input: text });
    return z.NEVER;
  }),
);

/** Everything that can be set, with its default. The keys are those of the settings file. */
const all = z.strictObject({
  /** Name of the Node this runs on, as in the API. Required. */
  nodeName: text,
  /** Path of the kubeconfig for the API server; absent: in-cluster. */
  kubeconfig: z.optional(text),
  /**
   * Further API servers of the same cluster, in order of preference after that of the kubeconfig, with the
   * same certificate authority and the same credentials.
   */
  servers: z._default(z.array(server).check(z.maxLength(16)), []),
  /** Where kube-proxy reaches us by plain http; loopback only. `none`: by https only. */
  listen: z.prefault(optionalAddress, '127.0.0.1:10360'),
  /** Where kube-proxy reaches us by https; absent: nowhere. */
  https: z.optional(https),
  /** Health and metrics. */
  adminListen: z.prefault(address, '127.0.0.1:10361'),
  logLevel: z._default(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']), 'info'),
  /** Keys of Services without the annotation; empty: these are left alone. */
  defaultTopologyKeys: z._default(keyChoice, { keys: [] }),
  /** Whether the annotation topologyKeys of Namespaces is read too; needs the right to watch these. */
  namespacePolicies: flag,
  /** Others whose annotations of Services are read. */
  compatibility: z._default(z.array(z.enum(['openyurt', 'kubeedge'])), []),
  /** Whether headless Services are filtered too. */
  headless: flag,
  /** Where communities come from, for the key kube-proxy-wrapper.io/community. */
  communities: z.prefault(
    z.strictObject({
      /** Labels of nodes whose value is the community. */
      nodeLabels: z._default(z.array(labelKey), []),
      /** Labels `<prefix><community>: "true"`; empty: none. */
      labelPrefix: z._default(
        z
          .string()
          .check(
            z.refine(
              (prefix) => prefix === '' || (prefix.includes('/') && isLabelKey(`${prefix}a`)),
              'is no prefix of label keys, such as community.example.com/',
            ),
          ),
        'community.kube-proxy-wrapper.io/',
      ),
      /** Labels `<community>: <one of these values>`. */
      labelValues: z._default(z.array(labelValue), []),
      /** Name of this cluster in FabEdge's communities; absent: these are not read. */
      fabedgeCluster: z.optional(text),
    }),
    {},
  ),
  /** Which nodes are edge nodes. */
  edge: z.prefault(
    z.strictObject({
      labelSelector: z.prefault(
        z.pipe(z.string(), z.transform(parsed(parseLabelSelector))),
        'node-role.kubernetes.io/edge',
      ),
    }),
    {},
  ),
  cloud: z.prefault(
    z.strictObject({
      /** What an edge node gets of a Service whose traffic goes to the cloud: its endpoints, or nothing at all. */
      mode: z._default(z.enum(['endpoints', 'passthrough']), 'endpoints'),
    }),
    {},
  ),
  /** Hides Services that EdgeMesh serves, told by a label as in its own setting of this name; absent: none. */
  serviceFilter: z.optional(
    z.strictObject({
      mode: z.enum(['FilterIfLabelExists', 'FilterIfLabelDoesNotExists']),
      label: z._default(labelKey, 'service.edgemesh.kubeedge.io/service-proxy-name'),
    }),
  ),
  /** Ready endpoints that a topology key needs to count, by key. */
  minReady: z._default(
    z
      .record(z.string(), positive)
      .check(
        z.refine(
          (counts) => Object.keys(counts).every((key) => key === ANY_KEY || isLabelKey(key)),
          'has a key that is no topology key',
        ),
      ),
    {},
  ),
  /** A nearer key is returned to only when it was ready for this long. */
  returnDelaySeconds: z._default(z.number().check(z.minimum(0), z.maximum(86_400)), 0),
  /** Decide and explain, but show everything: to see what would be. */
  dryRun: flag,
  /** The least number of changes that each view remembers for clients that fall behind. */
  windowEntries: z._default(positive, 10_000),
  /** The least that these may take, in bytes. */
  windowBytes: z._default(positive, 32 * 1024 * 1024),
  /** Different questions that are served at once; one more is refused. */
  maxViews: z._default(positive, 64),
  /** A view that nobody asks for is closed after this. */
  idleViewSeconds: z._default(positive, 300),
  /** How long a request waits for its view to be complete, before it gets 503. */
  readyWaitSeconds: z._default(positive, 5),
  /** Time between bookmarks of a watch. */
  bookmarkSeconds: z._default(positive, 60),
  /** A watch whose client takes nothing for this long is ended. */
  stalledClientSeconds: z._default(positive, 60),
  /** Bytes of one object of the API server, in a list or in a watch. */
  maxObjectBytes: z._default(positive, DEFAULT_READ_BOUNDS.maxObjectBytes),
  /** Bytes of one LIST of the API server. */
  maxListBytes: z._default(positive, DEFAULT_READ_BOUNDS.maxListBytes),
  /** Objects of one question. */
  maxObjects: z._default(positive, DEFAULT_READ_BOUNDS.maxObjects),
  /** Folder in which the last known state is kept, for a start while the API server is out of reach; absent: nowhere. */
  stateDir: z.optional(text),
  /** Bytes that it may take on disk. */
  stateMaxBytes: z._default(positive, 256 * 1024 * 1024),
  /** Bytes per second that each question may write there in the long run. */
  stateWriteBytesPerSecond: z._default(positive, 100_000),
  /** How long the API server may be out of reach at the start before what is on disk stands in. */
  stateGraceSeconds: z._default(positive, 1),
  /** Connections that each listener serves at once; one more gets 503. */
  maxConnections: z._default(positive, 256),
  /** The headers of a request may take so many bytes, else 431. */
  maxHeaderBytes: z._default(positive, 16 * 1024),
  /** The headers of a request have to arrive within this time, else 408. */
  headersTimeoutSeconds: z._default(positive, 10),
  /** A whole request has to arrive within this time, else 408. */
  requestTimeoutSeconds: z._default(positive, 60),
  /** An event that kube-proxy writes over plain http may take so many bytes, else 413. */
  maxEventBytes: z._default(positive, 1024 * 1024),
  /** On SIGTERM, go on until the next process listens at the same addresses, but no longer than this. */
  handoverSeconds: z._default(z.int().check(z.nonnegative()), 0),
});

const schema = all.check(
  z.superRefine(({ listen, https, ...settings }, context) => {
    const issue = (path: string, message: string) =>
      context.addIssue({ code: 'custom', path: [path], message });
    if (listen === undefined && https === undefined) issue('listen', 'needs https to be set');
    if (settings.headersTimeoutSeconds > settings.requestTimeoutSeconds) {
      issue('headersTimeoutSeconds', 'must not be more than requestTimeoutSeconds');
    }
  }),
);

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
