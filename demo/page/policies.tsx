interface PoliciesProps {
  readonly service: string;
  /** Value of its annotation. */
  readonly present: string | undefined;
  readonly run: (command: string) => Promise<void>;
}

const HOSTNAME = 'kubernetes.io/hostname';
/** Policies with their description; undefined: no annotation. */
const CHOICES: readonly (readonly [string, readonly string[] | undefined])[] = [
  ['no policy', undefined],
  ['this node, else the site, else anywhere', [HOSTNAME, 'site', '*']],
  ['the site, else anywhere', ['site', '*']],
  ['the site only', ['site']],
  ['this node only', [HOSTNAME]],
];

/** Buttons that annotate a Service. */
export function Policies({ service, present, run }: PoliciesProps) {
  const now = present === undefined ? undefined : normalized(present);
  return (
    <p class="policies">
      <span>{service}:</span>
      {CHOICES.map(([text, keys]) => {
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
