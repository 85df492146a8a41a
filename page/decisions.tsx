import { useState } from 'preact/hooks';
import { shortKey } from '../src/topology/explain/short-key.ts';
import { Middle } from './middle.tsx';
import { type Column, compareText, type Sort } from './sort.ts';
import type { Decision } from './store.ts';
import { VirtualGrid } from './virtual-grid.tsx';

const COLUMNS: readonly Column<Decision>[] = [
  { label: 'Time', compare: (a, b) => a.number - b.number },
  { label: 'Service', compare: (a, b) => compareText(a.service, b.service) },
  { label: 'Winner', compare: (a, b) => compareText(winner(a.to), winner(b.to)) },
  { label: 'Kept', compare: (a, b) => (a.keptAfter ?? Infinity) - (b.keptAfter ?? Infinity) },
  { label: 'Because', compare: (a, b) => compareText(because(a.cause), because(b.cause)) },
];

/** The latest changes of decisions, newest first. */
export function Decisions({
  decisions,
  open,
  onOpen,
}: {
  readonly decisions: readonly Decision[];
  readonly open: string | undefined;
  readonly onOpen: (service: string) => void;
}) {
  const [sort, setSort] = useState<Sort>();
  return (
    <VirtualGrid
      label="Decisions"
      class="decisions"
      columns={COLUMNS}
      sort={sort}
      onSort={setSort}
      items={decisions}
      keyOf={({ number }) => String(number)}
      cells={cellsOf}
      open={String(decisions.find(({ service }) => service === open)?.number)}
      onOpen={({ service }) => onOpen(service)}
      empty="No decision has changed since this view was opened."
    />
  );
}

function cellsOf({ time, service, from, to, keptBefore, keptAfter, cause }: Decision) {
  const text = because(cause);
  return [
    <time key="time" dateTime={time} title={new Date(time).toLocaleString()} class="muted">
      {shortTime(new Date(time))}
    </time>,
    <span key="service" class="name">
      <Middle text={service} muted={service.indexOf('/') + 1} />
    </span>,
    <Middle key="winner" text={from === to ? winner(to) : `${winner(from)} → ${winner(to)}`} />,
    <span key="kept" class="kept-change">
      {keptText(keptBefore, keptAfter, from === to)}
    </span>,
    <span key="cause" class="muted">
      <Middle text={text} />
    </span>,
  ];
}

/** The time of today, or date and time to the minute for older changes. */
function shortTime(time: Date): string {
  if (time.toDateString() === new Date().toDateString()) return time.toLocaleTimeString();
  return time.toLocaleString(undefined, {
    month: 'short',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
  });
}

function winner(keys: string | null): string {
  return keys === null ? '—' : keys.split(', ').map(shortKey).join(', ');
}

/** @param others whether the kept endpoints differ although their number is the same */
function keptText(before: number | null, after: number | null, others: boolean): string {
  if (before !== after) return `${count(before)} → ${count(after)}`;
  return others ? `${count(after)}, others` : count(after);
}

function count(kept: number | null): string {
  return kept === null ? 'all' : String(kept);
}

/** A cause as text. */
function because({ kind, subject }: Decision['cause']): string {
  switch (kind) {
    case 'endpoints':
      return `endpoints of ${subject}`;
    case 'policy':
      return 'the policy, or the Service itself';
    case 'own-node':
      return `this node changed: ${subject}`;
    case 'nodes':
      return `node ${subject}`;
    case 'return-delay':
      return 'the return delay has passed';
  }
}
