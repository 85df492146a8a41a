import type { ServiceExplanation } from '../src/diagnosis/explain/explanation.ts';
import { type Severity, Sign, severityOf } from './severity.tsx';
import { sentence } from './text.ts';

const GROUPS: readonly (readonly [Severity, string])[] = [
  ['error', 'Traffic fails'],
  ['warning', 'Warnings'],
  ['info', 'Notes'],
];

/** What an operator may need to know about a Service, the most severe first. */
export function Warnings({
  warnings,
  dryRun,
}: {
  readonly warnings: ServiceExplanation['warnings'];
  readonly dryRun: boolean;
}) {
  return (
    <>
      {GROUPS.map(([group, title]) => {
        const own = warnings.filter(
          ({ code, severity }) => severityOf(code, severity, dryRun) === group,
        );
        if (own.length === 0) return null;
        return (
          <section key={group} class={`warnings ${group}`}>
            <h3>{title}</h3>
            <ul>
              {own.map(({ code, message, next }) => (
                <li key={code + message}>
                  <Sign severity={group} />
                  <span>
                    {message} <code class="muted">{code}</code>
                    {next !== undefined && <span class="muted next">{sentence(next)}</span>}
                  </span>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </>
  );
}
