import type { ApiServer } from '../fake-apiserver/api-server.ts';
import { suggestion } from '../src/text/did-you-mean.ts';
import { isLabelKey, isLabelValue } from '../src/topology/policy/label.ts';

/** Commands that change the cluster. The terminal and the page have them. */
const CHANGES = ['label', 'annotate', 'ready', 'notready'] as const;
/** Commands of the terminal alone. */
export const TERMINAL = [
  'show',
  'explain',
  'node',
  'outage',
  'reboot',
  'recover',
  'help',
  'quit',
  'exit',
] as const;

/** Names in examples. */
export interface ExampleNames {
  readonly node: string;
  readonly otherNode: string;
  readonly service: string;
  readonly address: string;
}

/** The text of `help`, with names that exist in this cluster. */
export function helpOf({ node, otherNode, service, address }: ExampleNames): string {
  const lines = [
    [`label ${node} site=b`, 'set a label of a node (site- removes it)'],
    [
      `annotate ${service} topologyKeys=prefer-same-node`,
      'set an annotation (topologyKeys- removes it)',
    ],
    [`notready ${address}`, `let an endpoint fail (ready ${address} repairs it)`],
    [`explain ${service}`, 'why this node sees which endpoints'],
    [`show ${service}`, 'print one Service (show: the whole table)'],
    [`node ${otherNode}`, 'look from another node'],
    ['outage', 'let the API server fail (recover ends it)'],
    ['reboot', 'start all nodes again, from their snapshots'],
    ['help', 'this text'],
    ['quit', 'end the demo'],
  ] as const;
  const width = Math.max(...lines.map(([example]) => example.length));
  return lines.map(([example, text]) => `  ${example.padEnd(width)}  ${text}`).join('\n');
}

/** A line as its words. */
export interface ParsedLine {
  readonly verb: string;
  /** What the command is about; empty: not given. */
  readonly subject: string;
  readonly setting: string;
}

/** Kinds before a name, as users of kubectl type them. */
const KIND = /^(no|nodes?|svc|services?)$/;

/** Splits a line. Accepts what users of kubectl type: `kubectl label node edge-1 site=b`, quotes as for a shell. */
export function parseLine(line: string): ParsedLine {
  const words = line.trim().split(/\s+/);
  if (words[0] === 'kubectl') words.shift();
  const [verb = ''] = words;
  if (words[2]?.includes('=') === false && KIND.test(words[1] ?? '')) words.splice(1, 1);
  const [, subject = '', ...rest] = words;
  return { verb, subject, setting: withoutQuotes(rest.join(' ')) };
}

/** `a='b'` and `'a=b'` are `a=b`. */
function withoutQuotes(text: string): string {
  const [, outer] = /^(?:'(.*)'|"(.*)")$/.exec(text) ?? [];
  if (outer !== undefined) return outer;
  return text.replace(/^([^='"]+=)'(.*)'$/, '$1$2');
}

/** Runs a line that changes the cluster, and returns what it did. Throws an Error that says what is wrong. */
export function runChange(server: ApiServer, line: string): string {
  const { verb, subject, setting } = parseLine(line);
  switch (verb) {
    case 'label': {
      const node = findNode(server, subject);
      server.label(node, ...labelOf(setting));
      return `labelled ${node}`;
    }
    case 'annotate': {
      const service = findService(server, subject);
      server.annotate(service, ...keyAndValue(setting));
      return `annotated ${service}`;
    }
    case 'ready':
    case 'notready':
      setReady(server, subject, verb === 'ready');
      return `${subject} is ${verb === 'ready' ? 'ready' : 'not ready'}`;
    default: {
      const names = [...CHANGES, ...TERMINAL];
      const typed = JSON.stringify(verb);
      throw new Error(`unknown command ${typed}.${suggestion(verb, names)} Type help`);
    }
  }
}

/** The name of a node that exists. */
export function findNode(server: ApiServer, name: string): string {
  const bare = name.replace(/^(no|nodes?)\//, '');
  if (server.get('nodes', bare) !== undefined) return bare;
  const names = server.list('nodes').map(({ metadata }) => metadata.name);
  if (bare === '') throw new Error(`name a node: ${some(names)}`);
  throw new Error(
    `there is no node ${bare}.${suggestion(bare, names)} The nodes are ${some(names)}`,
  );
}

/** `namespace/name` of a Service that exists. Without a namespace: `default`, else the only one of that name. */
export function findService(server: ApiServer, text: string): string {
  const bare = text.replace(/^(svc|services?)\//, '');
  const exact = bare.includes('/') ? bare : `default/${bare}`;
  if (bare !== '' && server.get('services', exact) !== undefined) return exact;
  const services = server.list('services').map(({ metadata }) => metadata);
  const all = services.map(({ namespace, name }) => `${namespace}/${name}`);
  if (bare === '') throw new Error(`name a Service: ${some(all)}`);
  const named = all.filter((each) => each.endsWith(`/${bare}`));
  if (named.length === 1) return named[0] as string;
  if (named.length > 1) throw new Error(`${named.length} Services have this name: ${some(named)}`);
  const candidates = bare.includes('/') ? all : services.map(({ name }) => name);
  const meant = suggestion(bare, [...new Set(candidates)]);
  throw new Error(`there is no Service ${exact}.${meant} The Services are ${some(all)}`);
}

function some(names: readonly string[]): string {
  const more = names.length - 8;
  return `${names.slice(0, 8).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function labelOf(setting: string): [key: string, value: string | null] {
  const [key, value] = keyAndValue(setting);
  if (isLabelKey(key) && isLabelValue(value ?? '')) return [key, value];
  throw new Error(`${setting} is not a label; ${key}- removes one`);
}

function keyAndValue(setting: string): [key: string, value: string | null] {
  if (setting.endsWith('-') && !setting.includes('=')) return [setting.slice(0, -1), null];
  const equals = setting.indexOf('=');
  if (equals < 1) throw new Error('write KEY=VALUE, or KEY- to remove it');
  return [setting.slice(0, equals), setting.slice(equals + 1)];
}

interface Conditioned {
  readonly addresses: readonly string[];
}

function setReady(server: ApiServer, address: string, ready: boolean): void {
  for (const slice of server.list('endpointslices')) {
    const { metadata, endpoints } = slice as unknown as {
      metadata: { name: string; namespace: string };
      endpoints?: readonly Conditioned[] | null;
    };
    if (!endpoints?.some(({ addresses }) => addresses.includes(address))) continue;
    const changed = endpoints.map((endpoint) =>
      endpoint.addresses.includes(address)
        ? { ...endpoint, conditions: { ready, serving: ready, terminating: false } }
        : endpoint,
    );
    server.patch('endpointslices', `${metadata.namespace}/${metadata.name}`, {
      endpoints: changed,
    });
    return;
  }
  const what = address === '' ? 'name an address' : `no endpoint has the address ${address}`;
  throw new Error(`${what}; show SERVICE lists them`);
}
