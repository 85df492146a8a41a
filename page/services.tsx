import type { RefObject } from 'preact';
import { useMemo } from 'preact/hooks';
import { Bar } from './bar.tsx';
import { type Filter, SHOW, search } from './filter.ts';
import { Keys } from './keys.tsx';
import { Middle } from './middle.tsx';
import { ago, reasonText, type Service } from './service.ts';
import { groupWarnings, Sign, warningsOf } from './severity.tsx';
import { type Column, compareText, type Sort } from './sort.ts';
import type { PageState } from './store.ts';
import { Tools } from './tools.tsx';
import { VirtualGrid } from './virtual-grid.tsx';

interface ServicesProps {
  readonly page: PageState;
  readonly filter: Filter;
  readonly onFilter: (filter: Filter) => void;
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort | undefined) => void;
  readonly open: string | undefined;
  readonly onOpen: (service: string) => void;
  readonly searchBox: RefObject<HTMLInputElement | null>;
}

const COLUMNS: readonly Column<Service>[] = [
  { label: 'Service', compare: (a, b) => compareText(a.name, b.name) },
  // Those whose traffic fails first, then by the part that is kept.
  { label: 'Endpoints', compare: (a, b) => shareOf(a) - shareOf(b) || a.total - b.total },
  {
    label: 'Keys',
    title: 'Filled: the key that won',
    compare: (a, b) => compareText(a.winners.join(), b.winners.join()),
  },
  { label: 'For', title: 'How long the same keys have won', compare: (a, b) => b.since - a.since },
  { label: 'Warnings', compare: (a, b) => weightOf(a) - weightOf(b) },
];

/** The list of Services with its search. */
export function Services(props: ServicesProps) {
  const { page, filter, onFilter, sort, onSort, open, onOpen, searchBox } = props;
  const { query, show, namespace, code } = filter;
  const matching = useMemo(
    () => search(page.services, query, namespace),
    [page.services, query, namespace],
  );
  const shown = useMemo(() => matching.filter(SHOW[show].has), [matching, show]);
  const groups = useMemo(() => (show === 'warnings' ? groupWarnings(shown) : []), [shown, show]);
  const isGroup = show === 'warnings' && code !== '';
  const listed = useMemo(
    () => (isGroup ? shown.filter(({ warnings }) => warnings.includes(code)) : shown),
    [shown, isGroup, code],
  );
  return (
    <>
      <Tools
        page={page}
        filter={filter}
        onFilter={onFilter}
        matching={matching}
        groups={groups}
        listed={listed}
        searchBox={searchBox}
      />
      <VirtualGrid
        label="Services"
        class="services"
        columns={COLUMNS}
        sort={sort}
        onSort={onSort}
        items={listed}
        keyOf={nameOf}
        cells={cellsOf}
        open={open}
        onOpen={({ name }) => onOpen(name)}
        empty={emptyText(page)}
      />
    </>
  );
}

function nameOf({ name }: Service): string {
  return name;
}

function shareOf({ ready, kept, total }: Service): number {
  if (total === 0) return 2;
  return ready === 0 ? -1 : kept / total;
}

/** Services whose traffic fails have the highest weight. */
function weightOf(service: Service): number {
  const [worst] = warningsOf(service);
  return service.warnings.length + (worst?.severity === 'error' ? 1_000 : 0);
}

function cellsOf(service: Service) {
  const { name, keys, winners, kept, ready, total, since, dryRun } = service;
  const warnings = warningsOf(service);
  const codes = warnings.map(({ code }) => code).join(', ');
  const [worst] = warnings;
  return [
    <span key="name" class="name">
      <Middle text={name} muted={name.indexOf('/') + 1} />
    </span>,
    <Bar key="bar" kept={kept} ready={ready} total={total} />,
    <span key="keys" class="policy">
      {keys.length > 0 ? (
        <Keys keys={keys} winners={winners} />
      ) : (
        <span class="muted">{reasonText(service)}</span>
      )}
      {dryRun && <span class="tag">dry run</span>}
    </span>,
    <span key="since" class="muted">
      {since === 0 ? '' : ago(since)}
    </span>,
    <span key="warnings" class="codes" title={codes}>
      {worst !== undefined && <Sign severity={worst.severity} />}
      <span class="code">{worst?.code}</span>
      {warnings.length > 1 && <span class="more">+{warnings.length - 1}</span>}
    </span>,
  ];
}

function emptyText({ node, services, left }: PageState): string {
  if (node?.problem !== undefined) return node.problem;
  if (services.length > 0) return 'No Service matches.';
  return left > 0 ? 'Loading…' : 'There are no Services.';
}
