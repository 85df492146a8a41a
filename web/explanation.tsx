import { useEffect, useRef } from 'preact/hooks';
import type { Explained } from '../src/admin/explain/explained-service.ts';
import { SOURCES } from '../src/diagnosis/explain/policy-sources.ts';
import { formatNumber } from '../src/text/numbers.ts';
import { Bar } from './bar.tsx';
import { Copy } from './copy.tsx';
import { EndpointTable } from './endpoint-table.tsx';
import { Keys } from './keys.tsx';
import { PortTable } from './port-table.tsx';
import { sentence } from './text.ts';
import { Warnings } from './warnings.tsx';

interface ExplanationProps {
  readonly service: string;
  readonly explained: Explained | undefined;
  readonly problem: string | undefined;
  readonly onClose: () => void;
}

/** Explains what this node sees of a Service. */
export function Explanation({ service, explained, problem, onClose }: ExplanationProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
    // On a narrow screen it is above the list.
    heading.current?.scrollIntoView({ block: 'nearest' });
  }, [service]);
  useEffect(() => notifyDemo(explained ?? null), [explained]);
  useEffect(() => () => notifyDemo(null), []);
  return (
    <section class="explanation" aria-labelledby="explained">
      <header>
        <h2 id="explained" tabIndex={-1} ref={heading}>
          {service}
        </h2>
        <button type="button" onClick={onClose} aria-label="Close" title="Close (Esc)">
          ×
        </button>
      </header>
      {explained !== undefined && (
        <p class="copies">
          <Copy text={service} label="Copy name" />
          <Copy
            text={`kubectl kpw explain ${service} --node ${explained.node}`}
            label="Copy command"
          />
        </p>
      )}
      {problem !== undefined && <p class="bad">{problem}</p>}
      {explained !== undefined && <Content explained={explained} />}
    </section>
  );
}

function Content({ explained }: { readonly explained: Explained }) {
  const { outcome, policy, counts, warnings, keys, ports } = explained;
  const winners = ports.flatMap(({ winner }) => (winner === undefined ? [] : [winner]));
  return (
    <>
      <p class="outcome">
        <Bar {...counts} dryRun={outcome.dryRun} /> <span>{sentence(outcome.text)}</span>
      </p>
      {policy.keys !== undefined && (
        <p>
          <Keys keys={policy.keys} winners={winners} all />{' '}
          <span class="muted">{policy.source && SOURCES[policy.source]}</span>
        </p>
      )}
      <Warnings warnings={warnings} dryRun={outcome.dryRun} />
      {ports.map((port) => (
        <PortTable key={`${port.family} ${port.port}`} port={port} />
      ))}
      {explained.omittedPorts > 0 && (
        <p class="muted">{formatNumber(explained.omittedPorts)} more ports are not listed.</p>
      )}
      <EndpointTable endpoints={explained.endpoints} omitted={explained.omitted} />
      {keys.length > 0 && (
        <>
          <h3>Keys on this node</h3>
          <dl>
            {keys.map(({ key, meaning, nodes }) => (
              <div key={key}>
                <dt>{key}</dt>
                <dd>
                  {meaning}
                  {nodes === undefined
                    ? ''
                    : `, ${formatNumber(nodes)} ${nodes === 1 ? 'node' : 'nodes'}`}
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
      <p class="muted view">
        View: {explained.view.query} ({explained.view.encoding})
      </p>
    </>
  );
}

/** Notifies the bar of the demo of the current explanation; null: there is none. */
function notifyDemo(explained: Explained | null): void {
  document.dispatchEvent(new CustomEvent('explained', { detail: explained }));
}
