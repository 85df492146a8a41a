import type { RefObject } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Banner } from './banner.tsx';
import { Hatch } from './bar.tsx';
import { Decisions } from './decisions.tsx';
import { Explanation } from './explanation.tsx';
import { TABS } from './link.ts';
import { Node } from './node.tsx';
import { Services } from './services.tsx';
import type { PageState } from './store.ts';
import { Tabs } from './tabs.tsx';
import { Title } from './title.tsx';
import { useLink } from './use-link.ts';

/** Time between two updates of the displayed ages, in milliseconds. */
const AGE_MS = 10_000;

/** The whole page. The hash of the URL says what it shows, so that it can be linked. */
export function App({ page }: { readonly page: PageState }) {
  const [{ tab, open, filter, sort }, change] = useLink();
  const searchBox = useRef<HTMLInputElement>(null);
  const close = useCallback(() => {
    change({ open: undefined });
    // The focus was in the closed part, so it returns to the list.
    document.querySelector<HTMLElement>('#panel [role=grid], #panel .node')?.focus();
  }, [change]);
  useAges();
  useShortcuts(searchBox, open === undefined ? undefined : close);
  const service = open === undefined ? undefined : page.byName.get(open);
  return (
    <>
      <Hatch />
      <Title page={page} />
      <Banner page={page} onDetails={() => change({ tab: 'Node' })} />
      <Tabs
        tabs={TABS}
        tab={tab}
        onTab={(next) => change({ tab: next })}
        badges={{ Decisions: page.decisions.length }}
      />
      <main class={open === undefined ? '' : 'split'}>
        <div class="panel" id="panel" role="tabpanel" aria-label={tab}>
          {tab === 'Services' && (
            <Services
              page={page}
              filter={filter}
              onFilter={(next) => change({ filter: next })}
              sort={sort}
              onSort={(next) => change({ sort: next })}
              open={open}
              onOpen={(next) => change({ open: next })}
              searchBox={searchBox}
            />
          )}
          {tab === 'Decisions' && (
            <Decisions
              decisions={page.decisions}
              open={open}
              onOpen={(next) => change({ open: next })}
            />
          )}
          {tab === 'Node' && <Node state={page.node} />}
        </div>
        {open !== undefined && <Explanation service={open} trigger={service} onClose={close} />}
      </main>
    </>
  );
}

/** Renders again from time to time, because ages are displayed. */
function useAges(): void {
  const [, setNow] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), AGE_MS);
    return () => clearInterval(timer);
  }, []);
}

/** `/` leads to the search, and Escape closes the explanation, if one is open. */
function useShortcuts(
  searchBox: RefObject<HTMLInputElement | null>,
  close: (() => void) | undefined,
): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typing = event.target === searchBox.current;
      if (event.key === 'Escape') {
        close?.();
      } else if (event.key === '/' && searchBox.current !== null && !typing) {
        searchBox.current.focus();
        event.preventDefault();
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [close, searchBox]);
}
