import type { RefObject } from 'preact';
import { useMemo } from 'preact/hooks';
import { Bar } from './bar.tsx';
import { type Filter, SHOW, type Show, search } from './filter.ts';
import { Keys } from './keys.tsx';
import { ago, type Service } from './service.ts';
import type { PageState } from './store.ts';
import { VirtualGrid } from './virtual-grid.tsx';

interface ServicesProps {
  readonly page: PageState;
  readonly filter: Filter;
  readonly onFilter: (filter: Filter) => void;
  readonly open: string | undefined;
  readonly onOpen: (service: string) => void;
  readonly searchBox: RefObject<HTMLInputElement | null>;
}

const COLUMNS = ['Service', 'Endpoints', 'Keys, the winner filled', 'For', 'Warnings'];
const SHOWS = Object.keys(SHOW) as Show[];

/** The list of Services with its search. */
export function Services({ page, filter, onFilter, open, onOpen, searchBox }: ServicesProps) {
  const { query, show } = filter;
  const matching = useMemo(() => search(page.services, query), [page.services, query]);
  const counts = useMemo(
    () => Object.fromEntries(SHOWS.map((each) => [each, matching.filter(SHOW[each].has).length])),
    [matching],
  );
  const listed = useMemo(() => matching.filter(SHOW[show].has), [matching, show]);
  const sum = useMemo(() => totals(listed), [listed]);
  return (
    <>
      <search class="tools">
        <input
          ref={searchBox}
          type="search"
          aria-label="Search Services"
          aria-keyshortcuts="/"
          placeholder="Search: name, key, warning   ( / )"
          value={query}
          onInput={({ currentTarget }) => onFilter({ ...filter, query: currentTarget.value })}
        />
        <fieldset class="chips">
          <legend class="sr">Show</legend>
          {SHOWS.map((each) => (
            <label key={each}>
              <input
                type="radio"
                name="show"
                checked={show === each}
                onChange={() => onFilter({ ...filter, show: each })}
              />
              <span>
                {SHOW[each].label} <b>{counts[each]}</b>
              </span>
            </label>
          ))}
        </fieldset>
        <output class="sum">
          {listed.length} Services, {sum.kept} of {sum.total} endpoints kept
          {page.left > 0 && page.services.length > 0 && `, ${page.left} more to come`}
        </output>
      </search>
      <VirtualGrid
        label="Services"
        class="services"
        columns={COLUMNS}
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

function cellsOf(service: Service) {
  const { name, keys, winners, kept, total, since, warnings, policy, outcome, dryRun } = service;
  const slash = name.indexOf('/') + 1;
  const plain =
    outcome === 'filtered' || outcome === 'unfiltered' ? policy : `${outcome}: ${policy}`;
  return [
    <span key="name" class="name" title={name}>
      <i>{name.slice(0, slash)}</i>
      {name.slice(slash)}
    </span>,
    <Bar key="bar" kept={kept} total={total} />,
    <span key="keys">
      {keys.length > 0 ? (
        <Keys keys={keys} winners={winners} />
      ) : (
        <span class="muted">{plain}</span>
      )}
      {dryRun && <span class="tag">dry run</span>}
    </span>,
    <span key="since" class="muted">
      {since === 0 ? '' : ago(since)}
    </span>,
    <span key="warnings" class="warning" title={warnings.join(', ')}>
      {warnings.join(', ')}
    </span>,
  ];
}

function totals(services: readonly Service[]): { kept: number; total: number } {
  return services.reduce(
    (sum, { kept, total }) => ({ kept: sum.kept + kept, total: sum.total + total }),
    { kept: 0, total: 0 },
  );
}

function emptyText({ node, services, left }: PageState): string {
  if (node?.problem !== undefined) return node.problem;
  if (services.length > 0) return 'No Service matches.';
  return left > 0 ? 'Loading…' : 'There are no Services.';
}
