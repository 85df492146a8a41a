import { useState } from 'preact/hooks';
import type { RowWindow } from './row-window.ts';

/** The row that the keyboard has reached. */
export interface ActiveRow<Item> {
  readonly index: number;
  /** Moves to a row and shows it. */
  readonly goTo: (index: number) => void;
  /** Makes an item active that is visible. */
  readonly setActive: (item: Item) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

interface ActiveRowOptions<Item> {
  readonly items: readonly Item[];
  readonly keyOf: (item: Item) => string;
  readonly rows: RowWindow;
  readonly onOpen: (item: Item) => void;
}

/** Moves the active row by the keyboard. It is the first one initially, and stays active if rows are inserted before it. */
export function useActiveRow<Item>(options: ActiveRowOptions<Item>): ActiveRow<Item> {
  const { items, keyOf, rows, onOpen } = options;
  const [activeKey, setActiveKey] = useState<string>();
  const found = items.findIndex((item) => keyOf(item) === activeKey);
  const index = Math.max(0, found);
  const goTo = (wanted: number): void => {
    const to = Math.min(items.length - 1, Math.max(0, wanted));
    const item = items[to];
    if (item === undefined) return;
    setActiveKey(keyOf(item));
    rows.show(to);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const to = targetOf(event.key, index, rows.page, items.length);
    const item = items[index];
    // The buttons of the head have their own Enter.
    const isOwn = event.target === event.currentTarget;
    if (to !== undefined) goTo(to);
    else if (event.key === 'Enter' && isOwn && item !== undefined) {
      // The active row may not be visible.
      goTo(index);
      onOpen(item);
    } else return;
    event.preventDefault();
  };
  return { index, goTo, setActive: (item) => setActiveKey(keyOf(item)), onKeyDown };
}

/** The row that a key leads to; undefined: another key. */
function targetOf(key: string, active: number, page: number, count: number): number | undefined {
  const targets: Readonly<Record<string, number>> = {
    ArrowDown: active + 1,
    ArrowUp: active - 1,
    PageDown: active + page,
    PageUp: active - page,
    Home: 0,
    End: count - 1,
  };
  return targets[key];
}
