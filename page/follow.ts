import type { PageEvents } from '../src/admin/page/page-data.ts';
import type { Store } from './store.ts';

/** After a stream that was refused, the next one is tried this much later, in milliseconds. */
const RETRY_MS = 3_000;
/**
 * A stream on which nothing comes for this long is dead, in milliseconds: one that is alive has a heartbeat after
 * 15 s. Of a connection whose other side has vanished the browser itself would hear only much later, or never.
 */
const SILENCE_MS = 40_000;
const EVENTS = ['state', 'rows', 'decisions', 'heartbeat'] as const;

/** Follows the events of this node as long as the page can be seen: a tab in the background costs nothing. */
export function follow(store: Store): void {
  let source: EventSource | undefined;
  let retry = 0;
  let watchdog = 0;
  const close = (): void => {
    source?.close();
    source = undefined;
    clearTimeout(retry);
    clearTimeout(watchdog);
  };
  const hear = (): void => {
    clearTimeout(watchdog);
    watchdog = window.setTimeout(() => {
      store.lost();
      open();
    }, SILENCE_MS);
  };
  const open = (): void => {
    close();
    const opened = new EventSource('events');
    source = opened;
    hear();
    opened.onopen = () => store.begin();
    opened.onerror = () => {
      // What is cut is opened again by the browser, what is refused is not.
      store.lost();
      if (opened.readyState !== EventSource.CLOSED) return;
      retry = window.setTimeout(open, RETRY_MS);
      void refusal().then((problem) => {
        if (source === opened) store.lost(problem);
      });
    };
    for (const name of EVENTS) {
      opened.addEventListener(name, ({ data }: MessageEvent<string>) => {
        hear();
        store.take(name, JSON.parse(data) as PageEvents[typeof name]);
      });
    }
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  if (!document.hidden) open();
}

/** Why the stream is refused, which an EventSource does not tell; undefined: it is not, or nobody answers. */
async function refusal(): Promise<string | undefined> {
  try {
    const response = await fetch('events', { signal: AbortSignal.timeout(RETRY_MS) });
    const type = response.headers.get('content-type') ?? '';
    if (type.startsWith('text/plain')) return (await response.text()).trim();
    await response.body?.cancel();
  } catch {
    // Nobody answers, which is told as such.
  }
  return undefined;
}
