import type { ApiServer } from '../embedded/api-server.ts';
import { isLabelKey, isLabelValue } from '../src/topology/policy/label.ts';

export const HELP = `commands:
  label NODE KEY=VALUE      set a node label (KEY- removes it), e.g. label edge-1 site=b, or site-
  annotate SERVICE KEY=VALUE  annotate a Service (KEY- removes it), e.g. annotate web topologyKeys=["site"]
  ready ADDRESS | notready ADDRESS   flip the readiness of an endpoint
  help, quit`;

/** Result of a command: text to print, or 'quit'. */
export type CommandResult = { readonly text: string } | 'quit';

/** Runs one line. Throws an Error if the line is invalid. */
export function runCommand(server: ApiServer, line: string): CommandResult {
  const [verb = '', subject = '', ...rest] = line.trim().split(/\s+/);
  const setting = rest.join(' ');
  switch (verb) {
    case '':
      return { text: '' };
    case 'quit':
    case 'exit':
      return 'quit';
    case 'help':
      return { text: HELP };
    case 'label':
      server.label(subject, ...labelOf(setting));
      return { text: `labelled ${subject}` };
    case 'annotate':
      server.annotate(subject, ...keyAndValue(setting));
      return { text: `annotated ${subject}` };
    case 'ready':
    case 'notready':
      setReady(server, subject, verb === 'ready');
      return { text: `${subject} is ${verb}` };
    default:
      throw new Error(`unknown command ${JSON.stringify(verb)}; try help`);
  }
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
  throw new Error(`no endpoint has the address ${address}`);
}
