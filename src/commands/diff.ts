import type { Diff, JsonPatchOperation } from '../admin/explain/diff.ts';
import { escapeJson, printLine } from '../untrusted-text.ts';
import type { AdminClient } from './admin-client.ts';
import { type Call, EXIT } from './command.ts';
import { choiceFlag, type Flags, UsageError } from './flags.ts';
import type { Report } from './output/report.ts';
import { type ServiceName, serviceArgument, servicePath } from './service-argument.ts';

/** Executes `diff`. */
export async function executeDiff({ flags, args, session }: Call): Promise<number> {
  const service = diffArgument(args, flags);
  const admin = await session.openAdmin(flags);
  try {
    await session.print(await diffReport(admin, flags, service), flags);
    return EXIT.ok;
  } finally {
    admin.close();
  }
}

/** The Service whose objects are compared. Throws UsageError. */
export function diffArgument(args: readonly string[], flags: Flags): ServiceName {
  const service = serviceArgument(args, flags);
  if (service === undefined) throw new UsageError('the argument must be NAMESPACE/SERVICE');
  return service;
}

/** What one wrapper changes in the objects of a Service. */
export async function diffReport(
  admin: AdminClient,
  flags: Flags,
  service: ServiceName,
): Promise<Report> {
  const kind = choiceFlag(flags, 'kind', ['endpointslice', 'endpoints', 'service']);
  const diff = await admin.request<Diff>(`/diff/${servicePath(service)}?kind=${kind}`);
  return {
    data: diff,
    text: () => formatDiff(diff),
  };
}

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
