import { useEffect, useRef, useState } from 'preact/hooks';
import type { Explained } from '../src/admin/explain/explain.ts';
import { Bar } from './bar.tsx';
import { EndpointTable } from './endpoint-table.tsx';
import { Keys } from './keys.tsx';
import { PortTable } from './port-table.tsx';

interface ExplanationProps {
  readonly service: string;
  /** Another one, whenever the explanation may be another one. */
  readonly trigger: unknown;
  readonly onClose: () => void;
}

/** Why a Service looks on this node as it does. */
export function Explanation({ service, trigger, onClose }: ExplanationProps) {
  const [answer, setAnswer] = useState<{ of: string; explained?: Explained; problem?: string }>();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const controller = new AbortController();
    explain(service, controller.signal).then(
      (explained) => {
        setAnswer({ of: service, explained });
        document.dispatchEvent(new CustomEvent('explained', { detail: explained }));
      },
      (error: unknown) => {
        if (!controller.signal.aborted) setAnswer({ of: service, problem: String(error) });
      },
    );
    return () => controller.abort();
  }, [service, trigger]);
  useEffect(() => heading.current?.focus(), [service]);
  const shown = answer?.of === service ? answer : undefined;
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
      {shown?.problem !== undefined && <p class="bad">{shown.problem}</p>}
      {shown?.explained !== undefined && <Content explained={shown.explained} />}
    </section>
  );
}

function Content({ explained }: { readonly explained: Explained }) {
  const { outcome, policy, counts, warnings, keys, ports } = explained;
  const winners = ports.flatMap(({ winner }) => (winner === undefined ? [] : [winner]));
  return (
    <>
      <p class="outcome">
        <Bar kept={counts.kept} total={counts.total} /> {outcome.text}
      </p>
      {policy.keys !== undefined && (
        <p>
          <Keys keys={policy.keys} winners={winners} /> <span class="muted">{policy.source}</span>
        </p>
      )}
      {policy.message !== undefined && <p class="bad">{policy.message}</p>}
      <ul class="warnings">
        {warnings.map(({ code, severity, message }) => (
          <li key={code + message} class={severity}>
            <b>{severity === 'warning' ? '!' : 'i'}</b> {message}
          </li>
        ))}
      </ul>
      {ports.map((port) => (
        <PortTable key={`${port.family} ${port.port}`} port={port} />
      ))}
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
                  {nodes === undefined ? '' : `, ${nodes} ${nodes === 1 ? 'node' : 'nodes'}`}
                </dd>
              </div>
            ))}
          </dl>
        </>
      )}
      <p class="muted">
        View: {explained.view.question} ({explained.view.encoding})
      </p>
    </>
  );
}

async function explain(service: string, signal: AbortSignal): Promise<Explained> {
  const path = service.split('/').map(encodeURIComponent).join('/');
  const response = await fetch(`explain/${path}`, { signal });
  const body = (await response.json()) as Explained & { error?: string };
  if (!response.ok) throw new Error(body.error);
  return body;
}
