import type { ApiServer } from '../embedded/api-server.ts';
import { isLabelKey, isLabelValue } from '../src/topology/policy/label.ts';

export const HELP = `commands:
  label NODE KEY=VALUE      set a node label (KEY- removes it), e.g. label edge-1 site=b, or site-
  annotate SERVICE KEY=VALUE  annotate a Service (KEY- removes it), e.g. annotate web topologyKeys=["site"]
  ready ADDRESS | notready ADDRESS   flip the readiness of an endpoint
  help, quit`;

/** What a line of the user did: a text to print, or the wish to stop. */
export type CommandResult = { readonly say: string } | 'quit';

/** Carries out one line. Throws an Error that says what is wrong with it. */
export function runCommand(server: ApiServer, line: string): CommandResult {
  const [verb = '', subject = '', ...rest] = line.trim().split(/\s+/);
  const setting = rest.join(' ');
  switch (verb) {
    case '':
      return { say: '' };
    case 'quit':
    case 'exit':
      return 'quit';
    case 'help':
      return { say: HELP };
    case 'label':
      server.label(subject, ...labelOf(setting));
      return { say: `labelled ${subject}` };
    case 'annotate':
      server.annotate(subject, ...keyAndValue(setting));
      return { say: `annotated ${subject}` };
    case 'ready':
    case 'notready':
      setReady(server, subject, verb === 'ready');
      return { say: `${subject} is ${verb}` };
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
