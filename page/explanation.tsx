import { useEffect, useRef, useState } from 'preact/hooks';
import type { Explained } from '../src/admin/explain/explained-service.ts';
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

/** How long an answer may take, in milliseconds. */
const ANSWER_MS = 30_000;

/** Why a Service looks on this node as it does. */
export function Explanation({ service, trigger, onClose }: ExplanationProps) {
  const answer = useAnswer(service, trigger);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [service]);
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
      {answer?.problem !== undefined && <p class="bad">{answer.problem}</p>}
      {answer?.explained !== undefined && <Content explained={answer.explained} />}
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
      {explained.omittedPorts > 0 && (
        <p class="muted">{explained.omittedPorts} more ports are not listed.</p>
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

interface Answer {
  readonly of: string;
  readonly explained?: Explained;
  readonly problem?: string;
}

/**
 * What the wrapper says of a Service, asked for again with each trigger. What is on its way is waited for: a
 * Service that changes faster than its answers come would never be shown else.
 */
function useAnswer(service: string, trigger: unknown): Answer | undefined {
  const [answer, setAnswer] = useState<Answer>();
  const ask = useRef<() => void>(() => {});
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let asking = false;
    let again = false;
    const run = async (): Promise<void> => {
      again = true;
      if (asking) return;
      asking = true;
      while (again && !signal.aborted) {
        again = false;
        const next = await answerOf(service, signal);
        if (!signal.aborted) setAnswer(next);
      }
      asking = false;
    };
    ask.current = () => void run();
    return () => controller.abort();
  }, [service]);
  useEffect(() => ask.current(), [service, trigger]);
  useEffect(() => tell(answer?.explained ?? null), [answer]);
  useEffect(() => () => tell(null), []);
  return answer?.of === service ? answer : undefined;
}

/** Tells the bar of the demo what is explained; null: nothing is any more. */
function tell(explained: Explained | null): void {
  document.dispatchEvent(new CustomEvent('explained', { detail: explained }));
}

async function answerOf(service: string, signal: AbortSignal): Promise<Answer> {
  try {
    return { of: service, explained: await explain(service, signal) };
  } catch (error) {
    return { of: service, problem: String(error) };
  }
}

/** A part of a Service's name. Nothing else may become a part of a path: `..` would lead to another answer. */
const NAME = /^[a-z0-9][-a-z0-9.]*$/;

async function explain(service: string, stopped: AbortSignal): Promise<Explained> {
  const names = service.split('/');
  if (names.length !== 2 || !names.every((name) => NAME.test(name))) {
    throw new Error('a Service is called <namespace>/<name>');
  }
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(ANSWER_MS)]);
  const response = await fetch(`explain/${service}`, { signal });
  const body = (await response.json()) as Explained & { error?: string };
  if (!response.ok) throw new Error(body.error);
  return body;
}
