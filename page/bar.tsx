/** Up to this many endpoints are drawn one by one. */
const SINGLE = 12;

/** The endpoints of a Service as a bar: the kept ones are filled, the excluded ones follow. */
export function Bar({ kept, total }: { readonly kept: number; readonly total: number }) {
  const label = `${kept} of ${total} endpoints kept`;
  const each = 100 / Math.max(1, total);
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
        {total <= SINGLE ? (
          Array.from({ length: total }, (_, index) => (
            <rect
              key={index}
              class={index < kept ? 'kept' : 'out'}
              x={index * each + 0.75}
              y="1"
              width={Math.max(1, each - 1.5)}
              height="10"
            />
          ))
        ) : (
          <>
            <rect class="out" x="0.75" y="1" width="98.5" height="10" />
            <rect class="kept" x="0.75" y="1" width={(98.5 * kept) / total} height="10" />
          </>
        )}
      </svg>
      <b class={kept === 0 && total > 0 ? 'bad' : ''}>{kept}</b>/{total}
    </span>
  );
}
