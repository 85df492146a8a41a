import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { loadAll } from 'js-yaml';
import { z } from 'zod';
import { WrapperError } from '../errors.ts';
import { DEFAULT_READ_BOUNDS } from '../proxy/read-bounds.ts';
import { assertTopologyKeys } from '../topology/policy.ts';

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

const topologyKeys = z.array(z.string()).transform((keys, context) => {
  try {
    assertTopologyKeys(keys);
  } catch (error) {
    context.addIssue({
      code: 'custom',
      message: WrapperError.from(error, 'InvalidPolicy').message,
    });
  }
  return keys;
});

const server = z.string().transform((text, context) => {
  const url = URL.parse(text);
  const plain = url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash === '';
  if (plain && url.username + url.password === '') return url;
  context.addIssue({ code: 'custom', message: 'must be the URL of an API server, without a user' });
  return z.NEVER;
});

const positive = z.number().int().positive();

/** Everything that can be set, with its default. The keys are those of the settings file. */
const schema = z.strictObject({
  /** Name of the Node this runs on, as in the API. Required. */
  nodeName: z.string().min(1),
  /** Path of the kubeconfig for the API server; absent: in-cluster. */
  kubeconfig: z.string().min(1).optional(),
  /**
   * Further API servers of the same cluster, in order of preference after that of the kubeconfig, with the
   * same certificate authority and the same credentials.
   */
  servers: z.array(server).max(16).default([]),
  /** Where kube-proxy reaches us; loopback only. */
  listen: address.prefault('127.0.0.1:10360'),
  /** Health and metrics. */
  adminListen: address.prefault('127.0.0.1:10361'),
  logLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** Keys of Services without the annotation; empty: these are left alone. */
  defaultTopologyKeys: topologyKeys.default([]),
  /** Whether headless Services are filtered too. */
  headless: z.boolean().default(false),
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
  if (issue.code === 'unrecognized_keys') return `unknown key ${issue.keys.join(', ')}`;
  const key = issue.path.join('.');
  if (key === 'nodeName' && merged.nodeName === undefined) {
    return 'no node name: give --node-name, NODE_NAME or nodeName';
  }
  return `${key}=${JSON.stringify(merged[String(issue.path[0])])}: ${issue.message}`;
}
