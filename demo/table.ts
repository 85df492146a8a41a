import type { ApiServer } from '../embedded/api-server.ts';
import { createJsonCodec } from '../src/filter/codec/json/codec.ts';
import type { EndpointGroup } from '../src/topology/decide/endpoint.ts';
import { decideWithReasons } from '../src/topology/decide/endpoint-reasons.ts';
import type { ManagedPolicy } from '../src/topology/policy/policy.ts';
import type { Topology } from '../src/topology/state/topology.ts';
import { escapeUntrusted } from '../src/untrusted-text.ts';

/** Maximum length of a cell in UTF-16 code units. */
const MAX_CELL = 1_000;

/** The fields of an EndpointSlice that the table shows. */
interface Slice {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly endpoints?: readonly { readonly addresses: readonly string[] }[] | null;
}

/** One endpoint of one Service, seen from this node. */
export interface Row {
  readonly service: string;
  readonly keys: string;
  readonly address: string;
  readonly node: string;
  readonly shown: boolean;
  readonly why: string;
}

/** Compares the endpoints at the API server with those that a client of the wrapper sees, and gives the reasons. */
export function rowsOf(
  server: ApiServer,
  topology: Topology,
  shown: ReadonlyMap<string, ReadonlySet<string>>,
): Row[] {
  const byService = new Map<string, { group: EndpointGroup; slice: Slice }[]>();
  const codec = createJsonCodec();
  for (const object of server.list('endpointslices')) {
    const facts = codec.endpointSlice(Buffer.from(JSON.stringify(object)));
    const service = `${facts.namespace}/${facts.service}`;
    const [group] = facts.groups;
    if (group === undefined) continue;
    const slices = byService.get(service) ?? [];
    slices.push({ group, slice: object as unknown as Slice });
    byService.set(service, slices);
  }
  return [...byService].sort().flatMap(([service, slices]) => {
    const groups = slices.map(({ group }) => group);
    const policy = topology.policyInForce(service);
    const reasons =
      policy?.managed === true
        ? reasonsOf(groups, policy, topology)
        : groups.flatMap(({ endpoints }) => endpoints.map(() => `unfiltered: ${policy?.reason}`));
    let index = 0;
    return slices.flatMap(({ group, slice }) =>
      group.endpoints.map((endpoint, position) => {
        const address = slice.endpoints?.[position]?.addresses[0] ?? '';
        const key = `${slice.metadata.namespace}/${slice.metadata.name}`;
        return {
          service,
          keys: policy?.managed === true ? policy.keys.map(short).join(' > ') : '',
          address,
          node: endpoint.node + (endpoint.state === 'ready' ? '' : ` (${endpoint.state})`),
          shown: shown.get(key)?.has(address) ?? false,
          why: reasons[index++] ?? '',
        };
      }),
    );
  });
}

function reasonsOf(
  groups: readonly EndpointGroup[],
  { keys, minReady }: ManagedPolicy,
  topology: Topology,
): string[] {
  const options = minReady === undefined ? {} : { minReady };
  return decideWithReasons(groups, keys, topology.matches, options).map(({ reason }) => reason);
}

/** Formats rows as a table. A Service and its keys appear once. */
export function formatTable(rows: readonly Row[]): string {
  const header = ['SERVICE', 'KEYS', 'ENDPOINT', 'NODE', 'SHOWN', 'WHY'];
  const lines = rows.map((row, index) => {
    const first = rows[index - 1]?.service !== row.service;
    const name = first ? [row.service, row.keys] : ['', ''];
    const cells = [...name, row.address, row.node, row.shown ? 'yes' : '-', row.why];
    return cells.map((cell) => escapeUntrusted(cell, MAX_CELL));
  });
  const widths = header.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => line[column]?.length ?? 0)),
  );
  return [header, ...lines]
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** The last part of a label key, to keep the table narrow. */
function short(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
