import { shortKey } from '../../src/diagnosis/explain/short-key.ts';
import { plural } from '../../src/text/numbers.ts';
import { printLine } from '../../src/text/untrusted-text.ts';
import { firstFew } from '../../src/util/first-few.ts';
import { formatTable, type TextStyle } from '../output/report.ts';
import type { SimulatedOutcome, SimulatedService } from './simulated-service.ts';
import type { Simulation } from './simulation.ts';

/** With more different columns than this, the matrix shows sums instead. */
const MAX_COLUMNS = 12;

/** Formats the matrix Service × node for a terminal. Nodes that see the same share a column. */
export function formatMatrix(simulation: Simulation, style: TextStyle): string {
  const { nodes, services } = simulation;
  const columns = Map.groupBy(nodes.keys(), (node) => cellsOf(services, node).join('\n'));
  // -o wide never sums up.
  if (columns.size > MAX_COLUMNS && !style.wide) return formatSums(simulation, style);
  const groups = [...columns.values()];
  const header = ['SERVICE', ...groups.map((group) => headOf(nodes, group))];
  const lines = services.map((service) => [
    service.service,
    ...groups.map(([first = 0]) => cellOf(service, answerOn(service, first))),
  ]);
  const shared = groups.filter(({ length }) => length > 1);
  const legend = shared.map((group) => {
    const members = group.map((node) => nodes[node] ?? '');
    return printLine(`${headOf(nodes, group)} = ${firstFew(members, 20)}`);
  });
  const text = formatTable([header, ...lines], style);
  return legend.length === 0 ? text : `${text}\n${legend.join('')}`;
}

/** One line for each Service: how many nodes see how many endpoints, and by which key. */
function formatSums({ services, nodes }: Simulation, style: TextStyle): string {
  const header = ['SERVICE', 'ENDPOINTS', 'FEWEST', 'MOST', 'NODES BY WHAT THEY SEE'];
  const lines = services.map((service) => {
    const byWhat = new Map<string, number>();
    let fewest = Number.POSITIVE_INFINITY;
    let most = 0;
    for (const node of nodes.keys()) {
      const answer = answerOn(service, node);
      const what = `${isDryRun(service) ? 'dry run: ' : ''}${whatOf(service, answer)}`;
      byWhat.set(what, (byWhat.get(what) ?? 0) + 1);
      fewest = Math.min(fewest, answer.shown.length);
      most = Math.max(most, answer.shown.length);
    }
    const sums = [...byWhat].sort(([, a], [, b]) => b - a);
    const text = sums.map(([what, number]) => `${what} ${number}`).join(', ');
    const { length } = service.endpoints;
    return [service.service, String(length), String(fewest), String(most), text];
  });
  return formatTable([header, ...lines], style);
}

/** Formats what each node sees of one Service, with addresses. Nodes that see the same share a line. */
export function formatService(
  service: SimulatedService,
  nodes: readonly string[],
  style: TextStyle,
): string {
  const groups = Map.groupBy(nodes.keys(), (node) => service.byNode[node]);
  const lines = Array.from(groups.values(), (group) => {
    const answer = answerOn(service, group[0] ?? 0);
    const names = firstFew(group.map((node) => nodes[node] ?? ''));
    const most = style.wide ? Number.POSITIVE_INFINITY : 8;
    return [names, cellOf(service, answer), firstFew(addressesOf(service, answer), most)];
  });
  const { policy } = service;
  const keys = policy.managed ? policy.keys.join(' > ') : `no active policy (${policy.reason})`;
  const note = isDryRun(service)
    ? ' (dry run: everything is shown; ENDPOINTS has what the policy would show)'
    : '';
  const title = `${service.service}: ${keys}, ${plural(service.endpoints.length, 'endpoint')}${note}`;
  const head = style.headers ? `${printLine(title)}\n` : '';
  return `${head}${formatTable([['NODE', 'SEES', 'ENDPOINTS'], ...lines], style)}`;
}

/** The matrix as data: each distinct answer once, with its nodes. */
export function matrixData({ services, nodes }: Simulation): unknown {
  return services.map((service) => ({
    service: service.service,
    policy: service.policy,
    endpoints: service.endpoints,
    hinted: service.hinted,
    answers: service.answers.map((answer, index) => ({
      outcome: answer.kind,
      winners: answer.winners,
      shown: addressesOf(service, answer),
      nodes: nodes.filter((_, node) => service.byNode[node] === index),
    })),
  }));
}

/** What a node sees of a Service. */
export function answerOn(service: SimulatedService, node: number): SimulatedOutcome {
  return service.answers[service.byNode[node] as number] as SimulatedOutcome;
}

export function addressesOf(
  { endpoints }: SimulatedService,
  { shown }: SimulatedOutcome,
): string[] {
  return shown.map((index) => endpoints[index]?.address ?? '');
}

/** A cell such as `1/3 site`. In a dry run all endpoints are shown: `3/3 (dry run: would be 1/3 site)`. */
export function cellOf(service: SimulatedService, answer: SimulatedOutcome): string {
  const { kind, shown, total } = answer;
  const what = whatOf(service, answer);
  const sees = kind === 'hidden' || kind === 'withheld' ? what : `${shown.length}/${total} ${what}`;
  return isDryRun(service) ? `${total}/${total} (dry run: would be ${sees})` : sees;
}

/** Whether the policy of a Service is in dry run, so that everything is shown. */
export function isDryRun({ policy }: SimulatedService): boolean {
  return policy.dryRun === true;
}

/** What kube-proxy does by itself with Services that no policy filters; nothing if there are none. */
export function hintsNote(services: readonly SimulatedService[]): string {
  const isChosenByHints = ({ hinted, answers }: SimulatedService): boolean =>
    hinted && answers.some(({ kind }) => kind === 'unfiltered');
  if (!services.some(isChosenByHints)) return '';
  return `
hints: the endpoints have topology hints (trafficDistribution or topology-mode), so kube-proxy itself may use only those
of its node or zone
`;
}

function cellsOf(services: readonly SimulatedService[], node: number): string[] {
  return services.map((service) => cellOf(service, answerOn(service, node)));
}

function whatOf(service: SimulatedService, { kind, winners, shown }: SimulatedOutcome): string {
  if (kind === 'unfiltered' && service.hinted) return 'unfiltered, hints';
  if (kind !== 'filtered') return kind;
  return winners.map(shortKey).join('+') || (shown.length === 0 ? 'NONE' : 'not ready');
}

function headOf(nodes: readonly string[], group: readonly number[]): string {
  const first = nodes[group[0] ?? 0] ?? '';
  return group.length === 1 ? first : `${first} +${group.length - 1}`;
}
