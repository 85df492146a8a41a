import type { RefObject } from 'preact';
import { formatNumber } from '../src/text/numbers.ts';
import { type Filter, SHOW, SHOWS } from './filter.ts';
import type { PageState } from './poller.ts';
import { Sign, severityOf } from './severity.tsx';

interface ToolsProps {
  readonly answers: PageState['answers'];
  readonly filter: Filter;
  readonly onFilter: (filter: Filter) => void;
  readonly searchBox: RefObject<HTMLInputElement | null>;
}

/** What selects the listed Services, and how many they are. */
export function Tools({ answers, filter, onFilter, searchBox }: ToolsProps) {
  return (
    <search class="tools">
      <input
        ref={searchBox}
        type="search"
        aria-label="Search Services"
        aria-keyshortcuts="/"
        placeholder="Search names and keys"
        title="All words must occur, e.g. shop/ for a Namespace, or a topology key. The key / leads here."
        maxLength={200}
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
              {SHOW[each]}
              {each === 'failing' && <Failing summary={answers.summary?.body} />}
            </span>
          </label>
        ))}
      </fieldset>
      <Kinds answers={answers} filter={filter} onFilter={onFilter} />
      <output class="sum">{sumText(answers.list?.body)}</output>
    </search>
  );
}

/** The number of Services whose traffic fails, whatever the search selects. */
function Failing({
  summary,
}: {
  readonly summary: NonNullable<PageState['answers']['summary']>['body'];
}) {
  if (summary === undefined) return null;
  const { withoutEndpoints, withoutReady, noneReady } = summary;
  return <b> {formatNumber(withoutEndpoints.count + withoutReady.count + noneReady.count)}</b>;
}

/** The kinds of warnings, those of failing traffic first. */
function Kinds({ answers, filter, onFilter }: Omit<ToolsProps, 'searchBox'>) {
  const kinds = Object.entries(answers.list?.body?.kinds ?? {});
  if (filter.show !== 'warnings' || kinds.length === 0) return null;
  const dryRun = answers.node?.body?.dryRun === true;
  const groups = kinds
    .map(([code, count]) => ({ code, count, severity: severityOf(code, 'warning', dryRun) }))
    .sort(
      (a, b) =>
        Number(b.severity === 'error') - Number(a.severity === 'error') || b.count - a.count,
    );
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
            <Sign severity={severity} /> {code} <b>{formatNumber(count)}</b>
          </button>
        );
      })}
    </fieldset>
  );
}

function sumText(list: NonNullable<PageState['answers']['list']>['body']): string {
  if (list === undefined) return '';
  const { services, count = services.length } = list;
  if (count > services.length) {
    return `${formatNumber(services.length)} of ${formatNumber(count)} shown: search or filter`;
  }
  return `${formatNumber(count)} ${count === 1 ? 'Service' : 'Services'}`;
}
