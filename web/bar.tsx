import { formatNumber } from '../src/text/numbers.ts';

/** Up to this many endpoints are drawn one by one. */
const SINGLE = 12;

interface BarProps {
  readonly kept: number;
  /** How many of the kept ones are ready. */
  readonly ready: number;
  readonly total: number;
  /** All endpoints are shown; `kept` and `ready` are what the policy would show. */
  readonly dryRun: boolean;
}

/**
 * The endpoints of a Service as a bar: kept and ready ones are filled, other kept ones are hatched, the rest is empty.
 */
export function Bar({ kept, ready, total, dryRun }: BarProps) {
  const waiting = kept - ready;
  const all = `${formatNumber(kept)} of ${formatNumber(total)} endpoints`;
  const label = `${dryRun ? 'dry run: would be ' : ''}${all} kept${waiting === 0 ? '' : `, ${formatNumber(waiting)} not ready`}`;
  const fails = !dryRun && total > 0 && ready === 0;
  return (
    <span class="count">
      <svg
        class="bar"
        viewBox="0 0 100 12"
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        <title>{label}</title>
        {total <= SINGLE ? single(kept, ready, total) : shares(kept, ready, total)}
      </svg>
      <span class="of">
        <b class={fails ? 'bad' : ''}>{formatNumber(dryRun ? total : kept)}</b>/
        {formatNumber(total)}
      </span>
    </span>
  );
}

function single(kept: number, ready: number, total: number) {
  const each = 100 / Math.max(1, total);
  return Array.from({ length: total }, (_, index) => (
    <rect
      key={index}
      class={index < ready ? 'kept' : index < kept ? 'waiting' : 'out'}
      x={index * each + 0.75}
      y="1"
      width={Math.max(1, each - 1.5)}
      height="10"
    />
  ));
}

function shares(kept: number, ready: number, total: number) {
  const width = (part: number): number => (98.5 * part) / total;
  return (
    <>
      <rect class="out" x="0.75" y="1" width="98.5" height="10" />
      {kept > ready && <rect class="waiting" x="0.75" y="1" width={width(kept)} height="10" />}
      <rect class="kept" x="0.75" y="1" width={width(ready)} height="10" />
    </>
  );
}

/** The pattern of kept endpoints that are not ready. It is in the document once, for all bars. */
export function Hatch() {
  return (
    <svg class="hatch" aria-hidden="true" width="0" height="0">
      <pattern
        id="hatch"
        width="5"
        height="5"
        patternUnits="userSpaceOnUse"
        patternTransform="rotate(45)"
      >
        <rect width="2" height="5" />
      </pattern>
    </svg>
  );
}
