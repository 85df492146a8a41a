import type { RefObject } from 'preact';
import { useMemo } from 'preact/hooks';
import { type Filter, namespacesOf, SHOW, SHOWS } from './filter.ts';
import type { Service } from './service.ts';
import { Sign, type WarningGroup } from './severity.tsx';
import type { PageState } from './store.ts';

interface ToolsProps {
  readonly page: PageState;
  readonly filter: Filter;
  readonly onFilter: (filter: Filter) => void;
  /** Services that the search and the Namespace select. */
  readonly matching: readonly Service[];
  /** Kinds of warnings to choose from. */
  readonly groups: readonly WarningGroup[];
  readonly listed: readonly Service[];
  readonly searchBox: RefObject<HTMLInputElement | null>;
}

/** What selects the listed Services, and how many they are. */
export function Tools(props: ToolsProps) {
  const { page, filter, onFilter, matching, groups, listed, searchBox } = props;
  const counts = useMemo(
    () => Object.fromEntries(SHOWS.map((each) => [each, matching.filter(SHOW[each].has).length])),
    [matching],
  );
  const { kept, total } = useMemo(() => totals(listed), [listed]);
  return (
    <search class="tools">
      <Namespaces services={page.services} filter={filter} onFilter={onFilter} />
      <input
        ref={searchBox}
        type="search"
        aria-label="Search Services"
        aria-keyshortcuts="/"
        placeholder="Search"
        title="Names, keys and warnings. The key / leads here."
        value={filter.query}
        onInput={({ currentTarget }) => onFilter({ ...filter, query: currentTarget.value })}
      />
      <fieldset class="chips">
        <legend class="sr">Show</legend>
        {SHOWS.map((each) => (
          <label key={each}>
            <input
              type="radio"
              name="show"
              checked={filter.show === each}
              onChange={() => onFilter({ ...filter, show: each, code: '' })}
            />
            <span>
              {SHOW[each].label} <b>{counts[each]}</b>
            </span>
          </label>
        ))}
      </fieldset>
      {groups.length > 0 && <Kinds groups={groups} filter={filter} onFilter={onFilter} />}
      <output class="sum">
        {listed.length} {listed.length === 1 ? 'Service' : 'Services'}, {kept} of {total} endpoints
        kept
        {page.left > 0 && page.services.length > 0 && `, ${page.left} more to come`}
      </output>
    </search>
  );
}

type FilterProps = Pick<ToolsProps, 'filter' | 'onFilter'>;

function Namespaces({
  services,
  filter,
  onFilter,
}: FilterProps & { readonly services: readonly Service[] }) {
  const namespaces = useMemo(() => namespacesOf(services), [services]);
  // A link can name a Namespace that does not exist (yet).
  const isKnown = filter.namespace === '' || namespaces.includes(filter.namespace);
  const listed = isKnown ? namespaces : [...namespaces, filter.namespace];
  return (
    <select
      aria-label="Namespace"
      value={filter.namespace}
      onChange={({ currentTarget }) => onFilter({ ...filter, namespace: currentTarget.value })}
    >
      <option value="">All namespaces</option>
      {listed.map((each) => (
        <option key={each} value={each}>
          {each}
        </option>
      ))}
    </select>
  );
}

/** The kinds of warnings, the most severe first. */
function Kinds({
  groups,
  filter,
  onFilter,
}: FilterProps & { readonly groups: readonly WarningGroup[] }) {
  return (
    <fieldset class="chips kinds">
      <legend class="sr">Kind of warning</legend>
      {groups.map(({ code, severity, count }) => {
        const isChosen = filter.code === code;
        return (
          <button
            type="button"
            key={code}
            aria-pressed={isChosen}
            onClick={() => onFilter({ ...filter, code: isChosen ? '' : code })}
          >
            <Sign severity={severity} /> {code} <b>{count}</b>
          </button>
        );
      })}
    </fieldset>
  );
}

function totals(services: readonly Service[]): { kept: number; total: number } {
  return services.reduce(
    (sum, { kept, total }) => ({ kept: sum.kept + kept, total: sum.total + total }),
    { kept: 0, total: 0 },
  );
}
