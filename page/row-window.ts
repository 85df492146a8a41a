import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

/** Height of a row in pixels, the same as in style.css. */
export const ROW = 36;
/** Number of rows that are rendered above and below the visible ones. */
const OVERSCAN = 6;

/** The part of a scrolled list that is rendered. */
export interface RowWindow {
  /** The element that scrolls. */
  readonly body: RefObject<HTMLDivElement | null>;
  readonly onScroll: () => void;
  /** Index of the first rendered row, and of the one after the last. */
  readonly first: number;
  readonly last: number;
  /** Number of rows that one press of Page Down moves. */
  readonly page: number;
  /** Scrolls until a row is visible. */
  readonly show: (index: number) => void;
}

/** Follows the scroll position and the height of a list with rows of equal height. */
export function useRowWindow(count: number): RowWindow {
  const body = useRef<HTMLDivElement>(null);
  const [{ top, height }, setSeen] = useState({ top: 0, height: 800 });
  const onScroll = (): void => {
    // A scroll event can arrive after the grid was removed.
    if (body.current === null) return;
    setSeen({ top: body.current.scrollTop, height: body.current.clientHeight });
  };
  useEffect(() => {
    const observer = new ResizeObserver(onScroll);
    observer.observe(body.current as HTMLDivElement);
    return () => observer.disconnect();
  }, []);
  return {
    body,
    onScroll,
    first: Math.max(0, Math.floor(top / ROW) - OVERSCAN),
    last: Math.min(count, Math.ceil((top + height) / ROW) + OVERSCAN),
    page: Math.max(1, Math.floor(height / ROW) - 1),
    show: (index) => scrollTo(body.current as HTMLDivElement, index),
  };
}

function scrollTo(body: HTMLDivElement, index: number): void {
  if (index * ROW < body.scrollTop) body.scrollTop = index * ROW;
  else if ((index + 1) * ROW > body.scrollTop + body.clientHeight) {
    body.scrollTop = (index + 1) * ROW - body.clientHeight;
  }
}
