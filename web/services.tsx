import type { RefObject } from 'preact';
import type { ServiceSummary } from '../src/admin/explain/service-summaries.ts';
import { formatNumber, formatSince } from '../src/text/numbers.ts';
import { Bar } from './bar.tsx';
import type { Filter } from './filter.ts';
import { Keys } from './keys.tsx';
import { Middle } from './middle.tsx';
import { OpenRow } from './open-row.tsx';
import type { PageState } from './poller.ts';
import { reasonText } from './service.ts';
import { Sign, warningsOf } from './severity.tsx';
import { Tools } from './tools.tsx';

interface ServicesProps {
  readonly answers: PageState['answers'];
  readonly filter: Filter;
  readonly onFilter: (filter: Filter) => void;
  readonly open: string | undefined;
  /** The address that opens a Service. */
  readonly hrefOf: (service: string) => string;
  readonly searchBox: RefObject<HTMLInputElement | null>;
}

/** The list of Services with its search. */
export function Services({ answers, filter, onFilter, open, hrefOf, searchBox }: ServicesProps) {
  const { list } = answers;
  const services = list?.body?.services ?? [];
  return (
    <>
      <Tools answers={answers} filter={filter} onFilter={onFilter} searchBox={searchBox} />
      {services.length === 0 ? (
        <p class="empty">{emptyText(answers, filter)}</p>
      ) : (
        <table class="list services" aria-label="Services">
          <thead>
            <tr>
              <th>Service</th>
              <th class="bars">Endpoints</th>
              <th class="wanted" title="Filled: the key that won">
                Keys
              </th>
              <th class="since" title="How long the same keys have won">
                For
              </th>
              <th class="codes">
                <span class="label">Warnings</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {services.map((each) => (
              <OpenRow
                key={each.service}
                service={each.service}
                href={hrefOf(each.service)}
                isOpen={each.service === open}
              >
                <Cells of={each} />
              </OpenRow>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

function Cells({ of }: { readonly of: ServiceSummary }) {
  const { keys, winners, since, dryRun, kept, total } = of;
  const warnings = warningsOf(of);
  const [worst] = warnings;
  return (
    <>
      <td class="bars">
        <Bar {...of} />
      </td>
      <td class="wanted">
        <span class="policy">
          {keys.length > 0 ? (
            <Keys keys={keys} winners={winners} />
          ) : (
            <span class="muted">{reasonText(of)}</span>
          )}
          {dryRun && (
            <span class="tag">
              dry run: would be {formatNumber(kept)}/{formatNumber(total)}
            </span>
          )}
        </span>
      </td>
      <td class="since muted">{since === undefined ? '' : formatSince(since)}</td>
      <td class="codes" title={warnings.map(({ code }) => code).join(', ')}>
        <span class="flags">
          {worst !== undefined && <Sign severity={worst.severity} />}
          {worst !== undefined && <Middle text={worst.code} />}
          {warnings.length > 1 && <span class="more">+{warnings.length - 1}</span>}
        </span>
      </td>
    </>
  );
}

function emptyText({ list, node }: PageState['answers'], { query, show }: Filter): string {
  const problem = list?.problem ?? node?.body?.problem;
  if (problem !== undefined) return problem;
  if (list === undefined) return 'Loading…';
  return query === '' && show === 'all' ? 'There are no Services.' : 'No Service matches.';
}
