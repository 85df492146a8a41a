import { shortKey } from '../../src/diagnosis/explain/short-key.ts';

interface PoliciesProps {
  readonly service: string;
  /** Value of its annotation. */
  readonly present: string | undefined;
  /** The label by which nodes are grouped. */
  readonly label: string;
  readonly run: (command: string) => Promise<void>;
}

const HOSTNAME = 'kubernetes.io/hostname';

/** Policies with their description; undefined: no annotation. */
function choices(label: string): readonly (readonly [string, readonly string[] | undefined])[] {
  const place = shortKey(label);
  return [
    ['no policy', undefined],
    [`this node, else the ${place}, else anywhere`, [HOSTNAME, label, '*']],
    [`the ${place}, else anywhere`, [label, '*']],
    [`the ${place} only`, [label]],
    ['this node only', [HOSTNAME]],
  ];
}

/** Buttons that annotate a Service. */
export function Policies({ service, present, label, run }: PoliciesProps) {
  const now = present === undefined ? undefined : normalized(present);
  return (
    <p class="policies">
      <span>{service}:</span>
      {choices(label).map(([text, keys]) => {
        const value = keys === undefined ? undefined : JSON.stringify(keys);
        const setting = value === undefined ? 'topologyKeys-' : `topologyKeys=${value}`;
        return (
          <button
            type="button"
            key={text}
            aria-pressed={now === value}
            title={value ?? 'without the annotation topologyKeys'}
            onClick={() => run(`annotate ${service} ${setting}`)}
          >
            {text}
          </button>
        );
      })}
    </p>
  );
}

function normalized(annotation: string): string {
  try {
    return JSON.stringify(JSON.parse(annotation));
  } catch {
    return annotation;
  }
}
