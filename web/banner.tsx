import type { NodeDetails } from '../src/admin/page/node-details.ts';
import { withDetail } from '../src/diagnosis/reading/causes.ts';
import { formatAge } from '../src/text/numbers.ts';
import type { PageState } from './poller.ts';
import { sentence } from './text.ts';

interface BannerProps {
  readonly page: PageState;
  readonly onDetails: () => void;
}

/** Says once, on every tab, what is wrong with this node or the connection to it, and how old the data is. */
export function Banner({ page, onDetails }: BannerProps) {
  const { connection, answeredAt } = page;
  const node = page.answers.node?.body;
  if (connection === 'lost') return <Stale answeredAt={answeredAt} />;
  if (node === undefined || node.causes.length === 0 || isStarting(node)) return null;
  const { causes, data } = node;
  return (
    <section class="banner" aria-label="Problems of this node">
      <p role="alert">
        <b>Not ready.</b>{' '}
        {causes.map(({ text, detail, checks }) => (
          <span key={withDetail(text, detail)} class="cause">
            {sentence(withDetail(text, detail))}
            {checks > 1 && ` (${checks} checks)`}
          </span>
        ))}
      </p>
      {data.ageSeconds > 0 && data.cause !== undefined && (
        <p class="age">
          The data is <b>{formatAge(data.ageSeconds)}</b> old. Later changes are not known.
        </p>
      )}
      <button type="button" onClick={onDetails}>
        Details
      </button>
    </section>
  );
}

/** The wrapper does not answer. Only the first sentence is announced, not each second. */
function Stale({ answeredAt }: Pick<PageState, 'answeredAt'>) {
  return (
    <section class="banner" aria-label="Problems of this page">
      <p role="alert">
        <b>No answer from the wrapper.</b>{' '}
        {answeredAt !== undefined &&
          `The page shows the state of ${new Date(answeredAt).toLocaleTimeString()}.`}
      </p>
      {answeredAt !== undefined && (
        <p class="age">
          It is <b>{formatAge(Math.round((Date.now() - answeredAt) / 1_000))}</b> old.
        </p>
      )}
    </section>
  );
}

/** Whether this node is not ready only because the wrapper, or a view that the page opens, has just started. */
export function isStarting({ causes }: NodeDetails): boolean {
  return causes.length > 0 && causes.every(({ nature }) => nature === 'starting');
}
