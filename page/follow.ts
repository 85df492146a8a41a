import type { PageEvents } from '../src/admin/page/page-data.ts';
import type { Store } from './store.ts';

/** Time until the next attempt after a refused stream, in milliseconds. */
const RETRY_MS = 3_000;
/**
 * A stream without any event for this long is dead, in milliseconds. A working stream has a heartbeat after 15 s. The
 * browser itself detects a lost connection much later, or never.
 */
const SILENCE_MS = 40_000;
const EVENTS = ['state', 'rows', 'decisions', 'heartbeat'] as const;

/** Receives the events of this node while the page is visible. A tab in the background has no stream. */
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
  const restartWatchdog = (): void => {
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
    restartWatchdog();
    opened.onopen = () => store.begin();
    opened.onerror = () => {
      // The browser reopens a broken stream, but not a refused one.
      store.lost();
      if (opened.readyState !== EventSource.CLOSED) return;
      retry = window.setTimeout(open, RETRY_MS);
      void refusal().then((problem) => {
        if (source === opened) store.lost(problem);
      });
    };
    for (const name of EVENTS) {
      opened.addEventListener(name, ({ data }: MessageEvent<string>) => {
        restartWatchdog();
        store.take(name, JSON.parse(data) as PageEvents[typeof name]);
      });
    }
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  if (!document.hidden) open();
}

/** Why the stream is refused (an EventSource does not report it); undefined: not refused, or no response. */
async function refusal(): Promise<string | undefined> {
  try {
    const response = await fetch('events', { signal: AbortSignal.timeout(RETRY_MS) });
    const type = response.headers.get('content-type') ?? '';
    if (type.startsWith('text/plain')) return (await response.text()).trim();
    await response.body?.cancel();
  } catch {
    // No response: the page shows that the connection is lost.
  }
  return undefined;
}
