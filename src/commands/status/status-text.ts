import { printLine } from '../../untrusted-text.ts';
import { formatAge, formatColumns } from '../format-output.ts';
import type { WrapperStatus } from './read-status.ts';

/** Formats the screen: problems first. */
export function formatStatus(status: WrapperStatus): string {
  const { node, version, dryRun, problems } = status;
  const name = version === undefined ? 'kube-proxy-wrapper' : `kube-proxy-wrapper ${version}`;
  const mode = dryRun ? ', DRY RUN: all endpoints are shown' : '';
  const title = printLine(`node ${node || '(not known yet)'}: ${name}${mode}`);
  const found = problems.map((problem) => printLine(`! ${problem}`)).join('');
  const verdict = problems.length === 0 ? 'no problem found\n' : found;
  return `${title}\n${verdict}\n${formatColumns(factsOf(status))}`;
}

function factsOf({ data, kubeProxy, checks, endpoints }: WrapperStatus): string[][] {
  const views = checks.filter(({ name }) => name.startsWith('view '));
  const sets = checks.filter(({ name }) => name.startsWith('nodes '));
  return [
    ['API server', connectionOf(data)],
    ['kube-proxy', clientOf(kubeProxy)],
    ['endpoints', endpointsOf(endpoints)],
    ['node sets', sets.length === 0 ? 'none needed' : `${countOk(sets)} ready`],
    ['views', views.length === 0 ? 'none open' : `${countOk(views)} ready`],
    ...views.map(({ name, ok, text }) => {
      // The problems at the top give the whole reason.
      const [state = ''] = ok ? [text] : text.split(': ', 1);
      const why = state === '' ? '' : `: ${state}`;
      return ['', `${ok ? '+' : '-'} ${name.slice('view '.length)}${why}`];
    }),
  ];
}

function countOk(checks: WrapperStatus['checks']): string {
  return `${checks.filter(({ ok }) => ok).length} of ${checks.length}`;
}

function connectionOf(data: WrapperStatus['data']): string {
  if (data === undefined) return 'not reported by this wrapper';
  return `${data.state}, data ${formatAge(data.ageSeconds)} old`;
}

function clientOf({ watches, listeners }: WrapperStatus['kubeProxy']): string {
  const where = listeners.length === 0 ? '' : ` at ${listeners.join(' and ')}`;
  if (watches.length === 0) return `not connected${where}`;
  return `a client watches ${watches.join(' and ')}${where}`;
}

function endpointsOf(endpoints: WrapperStatus['endpoints']): string {
  if (endpoints === undefined) return 'not known yet';
  const { filtered, unfiltered } = endpoints;
  const some = `${filtered.shown} of ${filtered.known} shown of Services with a policy`;
  return `${some}, ${unfiltered.shown} of ${unfiltered.known} of the others`;
}
