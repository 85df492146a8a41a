import { isDeepStrictEqual } from 'node:util';
import type { StatusLine } from '../../src/admin/status/status-line.ts';
import { printLine } from '../../src/text/untrusted-text.ts';
import { firstFew } from '../../src/util/first-few.ts';
import type { Report } from '../output/report.ts';
import { formatStatusLine } from '../output/status-text.ts';

/** Whether it is well on one node, as seen from elsewhere. */
export interface NodeReport {
  readonly node: string;
  /** Absent: its wrapper did not answer. */
  readonly version?: string;
  readonly settings?: string;
  /** `host:port` of the relay that it reads from. */
  readonly relay?: string | undefined;
  readonly lines: readonly StatusLine[];
}

/** Nodes that share a line. */
interface LineGroup {
  readonly line: StatusLine;
  readonly nodes: readonly string[];
}

/** Groups on one screen; the others are in -o json. */
const MAX_GROUPS = 20;

/** Nodes with the same outcome share one line, the problems first. */
export function clusterReport(nodes: readonly NodeReport[]): Report {
  const groups = groupLines(nodes);
  const counts = countNodes(nodes);
  return {
    data: { ...counts, groups, nodes: nodes.map(({ lines, ...about }) => about) },
    text: () => formatCluster(nodes, groups, counts),
  };
}

const ORDER = ['problem', 'warning', 'unknown', 'note', 'notConnected', 'ok'] as const;

function groupLines(nodes: readonly NodeReport[]): LineGroup[] {
  const all = nodes.flatMap(({ node, lines }) => lines.map((line) => ({ node, line })));
  const groups = Map.groupBy(all, ({ line: { state, id, text } }) => `${state} ${id} ${text}`);
  return Array.from(groups.values(), (group) => {
    const { node, line } = group[0] as (typeof all)[number];
    // What differs from node to node is printed for a node alone.
    const shared = <F extends keyof StatusLine>(field: F): StatusLine[F] | undefined =>
      group.every((each) => isDeepStrictEqual(each.line[field], line[field]))
        ? line[field]
        : undefined;
    const alone = line.next && `kubectl kpw status --node ${node} says what to do there`;
    return {
      line: {
        ...line,
        detail: shared('detail'),
        missing: shared('missing'),
        next: shared('next') ?? alone,
      },
      // A node may have several lines with this text.
      nodes: [...new Set(group.map((each) => each.node))],
    };
  }).sort(
    (a, b) =>
      ORDER.indexOf(a.line.state) - ORDER.indexOf(b.line.state) || b.nodes.length - a.nodes.length,
  );
}

const NOT_WELL = ['problem', 'unknown', 'notConnected'] as const;

type NodeCounts = ReturnType<typeof countNodes>;

/** A node counts once, by its worst line. */
function countNodes(nodes: readonly NodeReport[]) {
  const counts = { problem: 0, unknown: 0, notConnected: 0, ok: 0 };
  let withoutWrapper = 0;
  for (const { lines } of nodes) {
    const isAny = (state: StatusLine['state']) => lines.some((line) => line.state === state);
    // A node with a warning or a note works.
    counts[NOT_WELL.find(isAny) ?? 'ok']++;
    if (lines.some(({ id, state }) => id === 'wrapper' && state === 'notConnected'))
      withoutWrapper++;
  }
  return {
    count: nodes.length,
    well: counts.ok,
    problems: counts.problem,
    unknown: counts.unknown,
    notPointed: counts.notConnected - withoutWrapper,
    withoutWrapper,
  };
}

function formatCluster(
  nodes: readonly NodeReport[],
  groups: readonly LineGroup[],
  counts: NodeCounts,
): string {
  const isOne = nodes.length === 1;
  // Of one node everything is printed, of many only what is not well.
  const printed = groups.filter(({ line }) => isOne || line.state !== 'ok');
  const lines = printed
    .slice(0, MAX_GROUPS)
    .map((group) =>
      formatStatusLine(
        nodesOf(group, nodes.length),
        (service) => `kubectl kpw explain ${service} --node ${group.nodes[0]}`,
      ),
    );
  const rest = printed.length - lines.length;
  const more = rest > 0 ? printLine(`and ${rest} more lines; all are in -o json`) : '';
  const known = versionsOf(nodes) + relaysOf(nodes);
  const parts = [`${lines.join('')}${more}`, known + summaryOf(counts)];
  return parts.filter((part) => part !== '').join('\n');
}

function nodesOf({ line, nodes }: LineGroup, all: number): StatusLine {
  if (all === 1) return line;
  const where = `${nodes.length} of ${all} nodes: ${firstFew(nodes)}`;
  return { ...line, detail: line.detail === undefined ? where : `${where}; ${line.detail}` };
}

function versionsOf(nodes: readonly NodeReport[]): string {
  const runs = nodes.filter(({ version }) => version !== undefined);
  const groups = Map.groupBy(runs, ({ version, settings }) => `${version}, settings ${settings}`);
  return [...groups]
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, MAX_GROUPS)
    .map(([what, all]) => printLine(`version ${what}: ${firstFew(all.map(({ node }) => node))}`))
    .join('');
}

/** Which nodes read from which relay. */
function relaysOf(nodes: readonly NodeReport[]): string {
  const groups = Map.groupBy(nodes, ({ relay }) => relay);
  groups.delete(undefined);
  if (groups.size === 0) return '';
  const all = [...groups].sort(([, a], [, b]) => b.length - a.length);
  const lines = all
    .slice(0, MAX_GROUPS)
    .map(([relay, of]) => `relay ${relay}: ${firstFew(of.map(({ node }) => node))}`);
  const rest = all.length - lines.length;
  const more = rest > 0 ? [`and ${rest} more relays; all are in -o json`] : [];
  const number = all.reduce((sum, [, of]) => sum + of.length, 0);
  const summary = `${number} of ${nodes.length} nodes read from a relay`;
  return [...lines, ...more, summary].map(printLine).join('');
}

function summaryOf({ count, well, ...others }: NodeCounts): string {
  const { problems, unknown, notPointed, withoutWrapper } = others;
  const are = count === 1 ? 'node is' : 'nodes are';
  const sums = [
    `${well} of ${count} ${are} well`,
    problems > 0 && `${problems} with problems`,
    unknown > 0 && `${unknown} not known`,
    notPointed > 0 && `${notPointed} not pointed at the wrapper`,
    withoutWrapper > 0 && `${withoutWrapper} without a wrapper`,
  ];
  return printLine(sums.filter(Boolean).join(', '));
}
