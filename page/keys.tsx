import { shortKey } from './service.ts';

/** Topology keys in order of preference. The winners are highlighted. */
export function Keys({
  keys,
  winners,
}: {
  readonly keys: readonly string[];
  readonly winners: readonly string[];
}) {
  return (
    <span class="keys">
      {keys.map((key) => {
        const won = winners.includes(key);
        return (
          <span key={key} class={won ? 'key won' : 'key'} title={won ? `${key} wins` : key}>
            {shortKey(key)}
            {won && <span class="sr"> (wins)</span>}
          </span>
        );
      })}
    </span>
  );
}
