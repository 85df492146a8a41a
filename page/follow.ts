import type { PageEvents } from '../src/admin/page/page-data.ts';
import type { Store } from './store.ts';

/** After a stream that was refused, the next one is tried this much later, in milliseconds. */
const RETRY_MS = 3_000;

/** Follows the events of this node as long as the page can be seen: a tab in the background costs nothing. */
export function follow(store: Store): void {
  let source: EventSource | undefined;
  let retry = 0;
  const close = (): void => {
    source?.close();
    source = undefined;
    clearTimeout(retry);
  };
  const open = (): void => {
    close();
    const opened = new EventSource('events');
    source = opened;
    opened.onopen = () => store.begin();
    opened.onerror = () => {
      store.lost();
      // What is cut is opened again by the browser, what is refused is not.
      if (opened.readyState === EventSource.CLOSED) retry = window.setTimeout(open, RETRY_MS);
    };
    for (const name of ['state', 'rows', 'decisions'] as const) {
      opened.addEventListener(name, ({ data }: MessageEvent<string>) => {
        store.take(name, JSON.parse(data) as PageEvents[typeof name]);
      });
    }
  };
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  open();
}
