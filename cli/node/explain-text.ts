import type { Explained } from '../../src/admin/explain/explained-service.ts';
import type { ServiceSummaries } from '../../src/admin/explain/service-summaries.ts';
import type {
  PolicyExplanation,
  PortExplanation,
} from '../../src/diagnosis/explain/explanation.ts';
import { SOURCES } from '../../src/diagnosis/explain/policy-sources.ts';
import { portTitle } from '../../src/diagnosis/explain/port-title.ts';
import { shortKey } from '../../src/diagnosis/explain/short-key.ts';
import { formatSince, plural } from '../../src/text/numbers.ts';
import { printLine } from '../../src/text/untrusted-text.ts';
import { formatColumns } from '../output/format-output.ts';
import { formatProblems } from '../output/format-problems.ts';
import { formatTable, type TextStyle } from '../output/report.ts';
import { formatStaleness } from './data-age.ts';

/** Formats the list of Services for a terminal. @param chosen which Services, e.g. ` with warnings`; empty: all */
export function formatSummaries(summary: ServiceSummaries, style: TextStyle, chosen = ''): string {
  const { node, services, view } = summary;
  const stale = formatStaleness(summary);
  if (services.length === 0) return `${printLine(`node ${node}: no Services${chosen}`)}${stale}`;
  const unread = view.clients === 0 ? '; no client reads this view now' : '';
  const title = printLine(`node ${node}, ${view.query} (${view.encoding})${unread}`);
  const head = style.headers ? `${title}${stale}\n` : stale;
  return `${head}${formatTable(summaryTable(services, style.wide), style)}`;
}

/** The list of Services as a table with a header. Without times there is no column for them. */
export function summaryTable(services: ServiceSummaries['services'], wide: boolean): string[][] {
  const hasSince = services.some(({ since }) => since !== undefined);
  const since = hasSince ? ['SINCE'] : [];
  const header = ['SERVICE', 'OUTCOME', 'POLICY', 'WINNER', 'SHOWN', ...since, 'WARNINGS'];
  const lines = services.map((each) => [
    each.service,
    outcomeOf(each),
    each.policy,
    each.winners.map(shortKey).join(', ') || '-',
    // In a dry run everything is shown, whatever the policy keeps.
    `${each.dryRun ? each.total : each.kept}/${each.total}`,
    ...(hasSince ? [each.since === undefined ? '-' : formatSince(each.since)] : []),
    each.warnings.join(', '),
    ...(wide ? [each.keys.join(' > ') || '-'] : []),
  ]);
  return [wide ? [...header, 'KEYS'] : header, ...lines];
}

/** `filtered`, or with what the policy would show: `filtered (dry run: would be 1/4)`. */
function outcomeOf({ outcome, dryRun, kept, total }: ServiceSummaries['services'][number]): string {
  if (!dryRun) return outcome;
  const would = outcome === 'filtered' ? `: would be ${kept}/${total}` : '';
  return `${outcome} (dry run${would})`;
}

/** Formats the explanation of one Service for a terminal. */
export function formatExplained(explained: Explained): string {
  const { service, node, warnings } = explained;
  return [
    `${printLine(`${service} on node ${node}: ${verdictOf(explained)}`)}${formatStaleness(explained)}`,
    formatPolicy(explained.policy),
    formatProblems(warnings),
    formatKeys(explained),
    ...explained.ports.map(formatPort),
    explained.omittedPorts === 0 ? '' : printLine(`and ${explained.omittedPorts} more ports`),
    formatEndpoints(explained),
    formatCorrected(explained),
    formatChanges(explained),
    formatView(explained.view),
  ]
    .filter((part) => part !== '')
    .join('\n');
}

/** `FILTERED, 1 of 3 endpoints shown to kube-proxy, for 5 min` */
function verdictOf({ outcome, counts, since }: Explained): string {
  const lasts = since === undefined ? '' : `, for ${formatSince(since)}`;
  const kind = outcome.kind.toUpperCase();
  if (outcome.dryRun) {
    const all = `DRY RUN, all ${counts.total} endpoints are shown to kube-proxy`;
    if (outcome.kind === 'undecided') return `${all}; ${kind}, ${outcome.text}${lasts}`;
    const would =
      outcome.kind === 'filtered' ? `${counts.kept} of ${counts.total} endpoints` : 'none';
    return `${all}; ${would} would be (${kind})${lasts}`;
  }
  if (outcome.kind !== 'filtered') return `${kind}, ${outcome.text}${lasts}`;
  return `${kind}, ${counts.kept} of ${counts.total} endpoints shown to kube-proxy${lasts}`;
}

function formatView({ query, encoding, clients }: Explained['view']): string {
  return printLine(`View: ${query} (${encoding}), read by ${plural(clients, 'client')}`);
}

function formatPolicy(policy: PolicyExplanation): string {
  const lines: string[] = [];
  const { managed, source, keys = [], preset, reason } = policy;
  const by = preset === undefined ? '' : ` (preset ${preset})`;
  lines.push(managed ? `Policy: ${keys.join(' > ')}${by}` : `Policy: none active (${reason})`);
  if (source !== undefined) lines.push(`  from ${SOURCES[source]}`);
  return lines.map(printLine).join('');
}

function formatKeys({ keys }: Explained): string {
  if (keys.length === 0) return '';
  const lines = keys.map(({ key, meaning, nodes }, index) => [
    `${index + 1}.`,
    key,
    meaning,
    nodes === undefined ? '' : plural(nodes, 'node'),
  ]);
  return `Keys on this node:\n${formatColumns(lines, '  ')}`;
}

function formatPort(port: PortExplanation): string {
  const won = port.winner === undefined ? 'no key wins' : `${port.winner} wins`;
  const header = ['', 'KEY', 'READY', 'TERMINATING', 'TOTAL'];
  const lines = port.keys.map(({ key, ready, serving, total, needs }) => [
    key === port.winner ? '>' : '',
    key,
    needs > 1 ? `${ready} of ${needs}` : String(ready),
    String(serving),
    String(total),
  ]);
  const next = port.next === undefined ? 'nothing would win' : `${port.next} would win`;
  const without =
    port.winner === undefined
      ? ''
      : printLine(`  without the endpoints of ${port.winner}, ${next}`);
  const table = formatColumns([header, ...lines], '  ');
  const title = printLine(`${portTitle(port)}: ${won} (${port.why})`);
  return `${title}${table}${without}`;
}

function formatEndpoints({ endpoints, counts, omitted, outcome }: Explained): string {
  if (counts.total === 0) return '';
  const header = ['', 'ADDRESS', 'NODE', 'ZONE', 'STATE', 'OBJECT', 'WHY'];
  const lines = endpoints.map(({ kept, address, node, zone, state, object, reason }) => [
    kept ? '+' : '-',
    address,
    node || '(none)',
    zone || '-',
    state,
    object,
    reason,
  ]);
  const more = omitted === 0 ? '' : `  and ${omitted} more\n`;
  const signs = outcome.dryRun ? '+ would be shown, - would be left out' : '+ shown, - left out';
  return `Endpoints (${signs}):\n${formatColumns([header, ...lines], '  ')}${more}`;
}

function formatChanges({ changes }: Explained): string {
  if (changes.length === 0) return '';
  const header = ['TIME', 'FROM', 'TO', 'KEPT', 'CAUSE'];
  const lines = changes.map(({ time, from, to, keptBefore, keptAfter, cause }) => [
    time,
    from ?? '-',
    to ?? '-',
    `${keptBefore ?? 'all'} > ${keptAfter ?? 'all'}`,
    cause.subject === '' ? cause.kind : `${cause.kind}: ${cause.subject}`,
  ]);
  return `Last changes of the decision:\n${formatColumns([header, ...lines], '  ')}`;
}

function formatCorrected({ corrected = [] }: Explained): string {
  if (corrected.length === 0) return '';
  const header = ['POD', 'OBJECT', 'THE API SERVER SAID', 'NOW', 'SINCE'];
  const lines = corrected.map(({ pod, object, from, to, since }) => [
    pod,
    object,
    `${from.address} ${from.state}`,
    to === undefined ? 'removed' : `${to.address} ${to.state}`,
    formatSince(new Date(since).toISOString()),
  ]);
  const title = 'Corrected from the container runtime:';
  return `${title}\n${formatColumns([header, ...lines], '  ')}`;
}
