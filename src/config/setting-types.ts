import { isIP } from 'node:net';
import * as v from 'valibot';
import { WrapperError } from '../errors.ts';
import { didYouMean } from '../text/did-you-mean.ts';
import type { Address } from '../util/address.ts';
import { messageOf } from '../util/message-of.ts';
import { removedSetting } from './removed-settings.ts';

/** A setting with its meaning, in whole sentences; docs/settings.md has them. */
export function described<const Schema extends v.GenericSchema>(schema: Schema, meaning: string) {
  return v.pipe(schema, v.description(meaning));
}

/**
 * A mapping that has these keys only. An array is not a mapping.
 *
 * @param name of the setting whose value it is; empty: all settings
 */
export function mapping<const Entries extends v.ObjectEntries>(name: string, entries: Entries) {
  const message = ({ expected, path }: v.StrictObjectIssue) => {
    const [{ input, key }] = path as [v.ObjectPathItem, ...v.ObjectPathItem[]];
    // The library reports only the first key that it does not know.
    if (expected === 'never') return unknownKeys(name, Object.keys(entries), Object.keys(input));
    const { type, expects = null } = entries[key] ?? {};
    return `is required: ${invalidValue({ kind: 'schema', type, expected: expects, message: '' })}`;
  };
  return v.pipe(v.custom<object>(isMapping, 'must be a mapping'), v.strictObject(entries, message));
}

function unknownKeys(name: string, known: readonly string[], given: readonly string[]): string {
  const fullName = (key: string) => (name === '' ? key : `${name}.${key}`);
  const unknown = given.filter((key) => !known.includes(key));
  const removed = unknown.flatMap((key) => removedSetting(fullName(key)) ?? []);
  const named = unknown
    .filter((key) => removedSetting(fullName(key)) === undefined)
    .map((key) => {
      const meant = didYouMean(key, known);
      return `${fullName(key)}${meant === undefined ? '' : ` (did you mean ${fullName(meant)}?)`}`;
    });
  return [...removed, ...(named.length === 0 ? [] : [`unknown key ${named.join(', ')}`])].join(
    '; ',
  );
}

/** The message of a value of another type, or beyond a limit. */
export function invalidValue({ kind, type, expected, message }: Invalid): string {
  if (expected === null) return message;
  if (type === 'picklist') return `must be one of ${expected.replace(/^\((.*)\)$/, '$1')}`;
  return kind === 'schema' ? `must be of type ${expected.toLowerCase()}` : `must be ${expected}`;
}

type Invalid = Pick<v.BaseIssue<unknown>, 'kind' | 'expected' | 'message'> & {
  readonly type: string | undefined;
};

/** Whether a value of a YAML file is a mapping. */
export function isMapping(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A step that parses; the problem is the message of the error that `parse` throws. */
export function parsed<In, Out>(parse: (value: In) => Out) {
  return v.rawTransform<In, Out>(({ dataset, addIssue, NEVER }) => {
    try {
      return parse(dataset.value);
    } catch (error) {
      addIssue({ message: messageOf(error) });
      return NEVER;
    }
  });
}

export const flag = v.boolean();
export const nonEmpty = v.pipe(v.string(), v.nonEmpty('must not be empty'));

/** `<ip>:<port>`, an IPv6 address in brackets. */
export const address = v.pipe(
  v.string(),
  v.metadata({ pattern: '^(\\[[0-9a-fA-F:.]+\\]|[0-9]{1,3}(\\.[0-9]{1,3}){3}):[0-9]{1,5}$' }),
  parsed(parseAddress),
);

/** An address, or `none`. assertLoopback checks later that it is a loopback address. */
export const optionalLoopback = v.pipe(
  v.string(),
  v.metadata({ pattern: '^(none|(\\[::1\\]|127(\\.[0-9]{1,3}){3}):[0-9]{1,5})$' }),
  parsed((text) => (text === 'none' ? undefined : parseAddress(text))),
);

const whole = v.pipe(v.number(), v.safeInteger('must be a whole number'));
export const notNegative = v.pipe(whole, v.minValue(0));
export const positive = v.pipe(whole, v.minValue(1));

/** The URL of an API server. */
export const apiServer = v.pipe(
  v.string(),
  v.metadata({ pattern: '^https?://' }),
  parsed((text) => {
    const url = URL.parse(text);
    const plain = url !== null && /^https?:$/.test(url.protocol) && url.search + url.hash === '';
    if (plain && url.username + url.password === '') return url;
    throw new WrapperError('InvalidSettings', 'must be the URL of an API server, without a user');
  }),
);

/** The URL of a relay. */
export const relayServer = v.pipe(
  apiServer,
  v.metadata({ pattern: '^https://' }),
  v.check(({ protocol }) => protocol === 'https:', 'must begin with https://'),
);

/** `NAMESPACE/NAME` of a Service. */
export const serviceName = v.pipe(
  v.string(),
  v.regex(
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\/[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/,
    'must be NAMESPACE/NAME of a Service',
  ),
);

/** Absolute path of a unix socket, also as a `unix://` address. */
export const socketPath = v.pipe(
  v.string(),
  v.regex(/^(unix:\/\/)?\/./, 'must be an absolute path, or unix:// and one'),
  parsed((text) => text.replace(/^unix:\/\//, '')),
);

/** Whether a host means all addresses of the machine, such as 0.0.0.0. */
function isAnyHost(host: string): boolean {
  return /^[0:.]+$/.test(host);
}

/** Whether the same connection could reach both addresses. */
export function overlap(one: Address, other: Address): boolean {
  if (one.port !== other.port || one.port === 0) return false;
  return one.host === other.host || isAnyHost(one.host) || isAnyHost(other.host);
}

function parseAddress(text: string): Address {
  const [, v6, v4, port] = /^(?:\[([^\]]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = v6 ?? v4 ?? '';
  if (isIP(host) === 0 || Number(port) > 65_535) {
    throw new WrapperError('InvalidSettings', 'must be <ip>:<port>, e.g. 127.0.0.1:10360');
  }
  return { host, port: Number(port) };
}
