import { formatNumber } from '../src/text/numbers.ts';

interface TabsProps<Tab extends string> {
  readonly tabs: readonly Tab[];
  readonly tab: Tab;
  readonly onTab: (tab: Tab) => void;
  /** Numbers after the names. */
  readonly badges: Partial<Record<Tab, number | undefined>>;
}

/** Tabs over one panel; the arrow keys move between them (WAI-ARIA Authoring Practices, tabs). */
export function Tabs<Tab extends string>({ tabs, tab, onTab, badges }: TabsProps<Tab>) {
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const next = tabs.at((tabs.indexOf(tab) + step) % tabs.length) as Tab;
    onTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <div
      class="tabs"
      role="tablist"
      aria-label="Parts of the page"
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      {tabs.map((each) => (
        <button
          type="button"
          key={each}
          id={`tab-${each}`}
          role="tab"
          aria-selected={each === tab}
          aria-controls="panel"
          tabIndex={each === tab ? 0 : -1}
          onClick={() => onTab(each)}
        >
          {each}
          {badges[each] !== undefined && <b> {formatNumber(badges[each])}</b>}
        </button>
      ))}
    </div>
  );
}
