import { shortKey } from '../src/diagnosis/explain/short-key.ts';
import { Middle } from './middle.tsx';

/** Room for keys in a row of the list, in characters. */
const ROOM = 23;
/** Room that a key needs besides its text. */
const EDGE = 3;
/** A longer key can be shortened to about this many characters. */
const SHORT = 9;

interface KeysProps {
  readonly keys: readonly string[];
  readonly winners: readonly string[];
  /** Whether all are shown, in as many lines as they need. */
  readonly all?: boolean;
}

/** Topology keys in order of preference. The winners are highlighted. */
export function Keys({ keys, winners, all = false }: KeysProps) {
  const shown = all ? keys : firstKeys(keys, winners);
  const omitted = keys.length - shown.length;
  return (
    <span class={all ? 'keys all' : 'keys'}>
      {shown.map((key) => {
        const won = winners.includes(key);
        return (
          <span
            key={key}
            class={`key${won ? ' won' : ''}${shortKey(key).length > SHORT ? ' long' : ''}`}
            title={won ? `${key} wins` : key}
          >
            <Middle text={shortKey(key)} short={SHORT} tail={4} />
            {won && <span class="sr"> (wins)</span>}
          </span>
        );
      })}
      {omitted > 0 && (
        <span class="more" title={keys.join(', ')}>
          +{omitted}
        </span>
      )}
    </span>
  );
}

/** The keys that have room: the winner, and the first others. */
function firstKeys(keys: readonly string[], winners: readonly string[]): readonly string[] {
  const winner = keys.find((key) => winners.includes(key));
  let room = ROOM - (winner === undefined ? 0 : roomOf(winner));
  const first = keys.filter((key) => {
    if (key === winner) return true;
    room -= roomOf(key);
    return room >= 0;
  });
  return first.length > 0 ? first : keys.slice(0, 1);
}

function roomOf(key: string): number {
  return Math.min(shortKey(key).length, SHORT) + EDGE;
}
