import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { loadAll } from 'js-yaml';
import { z } from 'zod';
import { WrapperError } from '../errors.ts';
import { isLabelKey, isLabelValue } from '../topology/label.ts';
import { parseLabelSelector } from '../topology/label-selector.ts';
import { assertTopologyKeys, type KeyChoice, PRESETS } from '../topology/policy.ts';

/** `<ip>:<port>`, an IPv6 address in brackets. */
const address = z.string().transform((text, context) => {
  const [, v6, v4, port] = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = v6 ?? v4 ?? '';
  if (isIP(host) === 0 || Number(port) > 65_535) {
    context.addIssue({ code: 'custom', message: 'must be <ip>:<port>, e.g. 127.0.0.1:10360' });
    return z.NEVER;
  }
  return { host, port: Number(port) };
});

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
const keyChoice = z
  .union([z.array(z.string()), z.string()], {
    error: `must be an array of topology keys or one of ${presetNames}`,
  })
  .transform(
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

const positive = z.number().int().positive();

/** Everything that can be set, with its default. The keys are those of the settings file. */
const schema = z.strictObject({
  /** Name of the Node this runs on, as in the API. Required. */
  nodeName: z.string().min(1),
  /** Path of the kubeconfig for the API server; absent: in-cluster. */
  kubeconfig: z.string().min(1).optional(),
  /** Where kube-proxy reaches us; loopback only. */
  listen: address.prefault('127.0.0.1:10360'),
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
  minReady: z.record(z.string(), positive).default({}),
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
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    return `unknown key ${issue.keys.map((key) => [...path, key].join('.')).join(', ')}`;
  }
  const key = path.join('.');
  if (key === 'nodeName' && merged.nodeName === undefined) {
    return 'no node name: give --node-name, NODE_NAME or nodeName';
  }
  return `${key}=${JSON.stringify(valueAt(merged, path))}: ${issue.message}`;
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let found = value;
  for (const key of path) found = (found as Record<string, unknown> | undefined)?.[key];
  return found;
}
