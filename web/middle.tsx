/** A name in one line. If it does not fit, its middle is left out; the title and the text itself are complete. */
export function Middle({
  text,
  muted = 0,
  short = 24,
  tail = 12,
}: {
  readonly text: string;
  /** Number of characters at the start that are less important. */
  readonly muted?: number;
  /** Up to this many characters have room everywhere. */
  readonly short?: number;
  /** Number of characters at the end that are always visible. */
  readonly tail?: number;
}) {
  const cut = text.length <= short ? text.length : Math.max(muted, text.length - tail);
  return (
    <span class="middle" title={text}>
      <span class="start">
        {muted > 0 && <i>{text.slice(0, muted)}</i>}
        {text.slice(muted, cut)}
      </span>
      {cut < text.length && <span class="end">{text.slice(cut)}</span>}
    </span>
  );
}
