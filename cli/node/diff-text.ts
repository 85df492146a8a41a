import type { Diff, JsonPatchOperation } from '../../src/admin/explain/diff.ts';
import { escapeJson, printLine } from '../../src/text/untrusted-text.ts';
import { formatStaleness } from './data-age.ts';

/** Formats the differences for a terminal. */
export function formatDiff(diff: Diff): string {
  const title = printLine(`${diff.service} on node ${diff.node}`);
  return `${title}${formatStaleness(diff)}\n${formatObjects(diff)}`;
}

/** Formats the differences of each object, without their node. */
export function formatObjects({ objects }: Diff): string {
  const parts = objects.map(({ kind, namespace, name, shown, patch }) => {
    const title = `${kind} ${namespace}/${name}`;
    if (!shown) return printLine(`${title}: hidden from kube-proxy`);
    if (patch.length === 0) return printLine(`${title}: unchanged`);
    return `${printLine(`${title}:`)}${patch.map(formatOperation).join('')}`;
  });
  return parts.join('\n');
}

function formatOperation({ op, path, value }: JsonPatchOperation): string {
  const to = value === undefined ? '' : ` ${escapeJson(JSON.stringify(value))}`;
  return printLine(`  ${op.padEnd(7)} ${path}${to}`);
}
