import { useEffect, useRef, useState } from 'preact/hooks';
import type { Explained } from '../src/admin/explain/explained-service.ts';
import { Bar } from './bar.tsx';
import { Copy } from './copy.tsx';
import { EndpointTable } from './endpoint-table.tsx';
import { Keys } from './keys.tsx';
import { PortTable } from './port-table.tsx';
import { sentence } from './text.ts';
import { Warnings } from './warnings.tsx';

interface ExplanationProps {
  readonly service: string;
  /** Changes whenever the explanation may have changed. */
  readonly trigger: unknown;
  readonly onClose: () => void;
}

/** Timeout of a request, in milliseconds. */
const ANSWER_MS = 30_000;

/** Explains what this node sees of a Service. */
export function Explanation({ service, trigger, onClose }: ExplanationProps) {
  const answer = useAnswer(service, trigger);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
  }, [service]);
  const isAnswered = answer !== undefined;
  useEffect(() => {
    // On a narrow screen it is below the list.
    heading.current?.closest('section')?.scrollIntoView({ block: 'start' });
  }, [service, isAnswered]);
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
      {answer?.explained !== undefined && (
        <p class="copies">
          <Copy text={service} label="Copy name" />
          <Copy
            text={`kubectl kpw explain ${service} --node ${answer.explained.node}`}
            label="Copy command"
          />
        </p>
      )}
      {answer?.problem !== undefined && <p class="bad">{answer.problem}</p>}
      {answer?.explained !== undefined && <Content explained={answer.explained} />}
    </section>
  );
}

function Content({ explained }: { readonly explained: Explained }) {
  const { outcome, policy, counts, warnings, keys, ports } = explained;
  const winners = ports.flatMap(({ winner }) => (winner === undefined ? [] : [winner]));
  const { message = '' } = policy;
  const isTold = warnings.some((warning) => warning.message.includes(message));
  return (
    <>
      <p class="outcome">
        <Bar {...counts} /> <span>{sentence(outcome.text)}</span>
      </p>
      {policy.keys !== undefined && (
        <p>
          <Keys keys={policy.keys} winners={winners} all />{' '}
          <span class="muted">{policy.source}</span>
        </p>
      )}
      {!isTold && <p class="bad">{message}</p>}
      <Warnings warnings={warnings} dryRun={outcome.dryRun} />
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
      <p class="muted view">
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
 * The explanation of a Service, requested again with each trigger. A running request is not aborted: otherwise a
 * Service that changes faster than its responses arrive would never be shown.
 */
function useAnswer(service: string, trigger: unknown): Answer | undefined {
  const [answer, setAnswer] = useState<Answer>();
  const request = useRef<() => void>(() => {});
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    let isRunning = false;
    let again = false;
    const run = async (): Promise<void> => {
      again = true;
      if (isRunning) return;
      isRunning = true;
      while (again && !signal.aborted) {
        again = false;
        const next = await answerOf(service, signal);
        if (!signal.aborted) setAnswer(next);
      }
      isRunning = false;
    };
    request.current = () => void run();
    return () => controller.abort();
  }, [service]);
  useEffect(() => request.current(), [service, trigger]);
  useEffect(() => notifyDemo(answer?.explained ?? null), [answer]);
  useEffect(() => () => notifyDemo(null), []);
  return answer?.of === service ? answer : undefined;
}

/** Notifies the bar of the demo of the current explanation; null: there is none. */
function notifyDemo(explained: Explained | null): void {
  document.dispatchEvent(new CustomEvent('explained', { detail: explained }));
}

async function answerOf(service: string, signal: AbortSignal): Promise<Answer> {
  try {
    return { of: service, explained: await explain(service, signal) };
  } catch (error) {
    return { of: service, problem: String(error) };
  }
}

/** Part of the name of a Service. Other text is not put into a path: `..` would request another path. */
const NAME = /^[a-z0-9][-a-z0-9.]*$/;

async function explain(service: string, closed: AbortSignal): Promise<Explained> {
  const names = service.split('/');
  if (names.length !== 2 || !names.every((name) => NAME.test(name))) {
    throw new Error('the name of a Service must be <namespace>/<name>');
  }
  const signal = AbortSignal.any([closed, AbortSignal.timeout(ANSWER_MS)]);
  const response = await fetch(`explain/${service}`, { signal });
  const body = (await response.json()) as Explained & { error?: string };
  if (!response.ok) throw new Error(body.error);
  return body;
}
