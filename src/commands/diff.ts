import type { Diff, JsonPatchOperation } from '../admin/explain/diff.ts';
import { escapeJson, printLine } from '../untrusted-text.ts';
import { adminUrl, requestAdmin } from './admin-client.ts';
import { type Command, choiceFlag, EXIT, UsageError } from './command.ts';
import { servicePath } from './explain.ts';
import { formatData } from './format-output.ts';

/** `kube-proxy-wrapper diff`. */
export const diffCommand: Command = {
  summary: 'show what the wrapper changes in the objects of a Service',
  help: `Shows what the wrapper changes in the objects of a Service, as a JSON Patch (RFC 6902) for each object.
Endpoints are keyed by their address, not by their position.

Usage:
  kube-proxy-wrapper diff NAMESPACE/SERVICE [flags]

Flags:
  --kind KIND          endpointslice (default), endpoints or service
  --admin IP:PORT      admin port of the wrapper; default 127.0.0.1:10361
  -o, --output FORMAT  text (default), json or yaml

Examples:
  kube-proxy-wrapper diff shop/web
  kube-proxy-wrapper diff shop/web -o json | jq '.objects[].patch'

Exit codes: 0 answered, 1 no wrapper answers or there is no such object, 2 wrong command line.
`,
  options: {
    kind: { type: 'string' },
    admin: { type: 'string' },
    output: { type: 'string', short: 'o' },
  },
  maxArguments: 1,
  async execute(flags, [service]) {
    if (service === undefined) throw new UsageError('the argument must be NAMESPACE/SERVICE');
    const format = choiceFlag(flags, 'output', ['text', 'json', 'yaml']);
    const kind = choiceFlag(flags, 'kind', ['endpointslice', 'endpoints', 'service']);
    const path = `/diff/${servicePath(service)}?kind=${kind}`;
    const diff = await requestAdmin<Diff>(adminUrl(flags), path);
    process.stdout.write(format === 'text' ? formatDiff(diff) : formatData(diff, format));
    return EXIT.ok;
  },
};

/** Formats the differences for a terminal. */
export function formatDiff({ service, node, objects }: Diff): string {
  const parts = objects.map(({ kind, namespace, name, shown, patch }) => {
    const title = `${kind} ${namespace}/${name}`;
    if (!shown) return printLine(`${title}: hidden from kube-proxy`);
    if (patch.length === 0) return printLine(`${title}: unchanged`);
    return `${printLine(`${title}:`)}${patch.map(formatOperation).join('')}`;
  });
  return `${printLine(`${service} on node ${node}`)}\n${parts.join('\n')}`;
}

function formatOperation({ op, path, value }: JsonPatchOperation): string {
  const to = value === undefined ? '' : ` ${escapeJson(JSON.stringify(value))}`;
  return printLine(`  ${op.padEnd(7)} ${path}${to}`);
}
