import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Decisions } from './decisions.tsx';
import { Explanation } from './explanation.tsx';
import { ALL, type Filter } from './filter.ts';
import { Node } from './node.tsx';
import { Services } from './services.tsx';
import type { PageState } from './store.ts';
import { Tabs } from './tabs.tsx';
import { Title } from './title.tsx';
import { useHash } from './use-hash.ts';

const TABS = ['Services', 'Decisions', 'Node'] as const;
type Tab = (typeof TABS)[number];
/** Time between two updates of the displayed ages, in milliseconds. */
const AGE_MS = 10_000;

/** The whole page. The hash of the URL names the explained Service, so that it can be linked. */
export function App({ page }: { readonly page: PageState }) {
  const [tab, setTab] = useState<Tab>('Services');
  const [open, setOpen] = useHash();
  const [filter, setFilter] = useState<Filter>(ALL);
  const searchBox = useRef<HTMLInputElement>(null);
  const close = useCallback(() => {
    setOpen(undefined);
    // The focus was in the closed part, so it returns to the list.
    document.querySelector<HTMLElement>('#panel [role=grid], #panel .node')?.focus();
  }, [setOpen]);
  const [, setNow] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), AGE_MS);
    return () => clearInterval(timer);
  }, []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typing = event.target === searchBox.current;
      if (event.key === 'Escape') {
        close();
      } else if (event.key === '/' && searchBox.current !== null && !typing) {
        searchBox.current.focus();
        event.preventDefault();
      }
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [close]);
  const service = open === undefined ? undefined : page.byName.get(open);
  return (
    <>
      <Title page={page} />
      <Tabs tabs={TABS} tab={tab} onTab={setTab} badges={{ Decisions: page.decisions.length }} />
      <main class={open === undefined ? '' : 'split'}>
        <div class="panel" id="panel" role="tabpanel" aria-label={tab}>
          {tab === 'Services' && (
            <Services
              page={page}
              filter={filter}
              onFilter={setFilter}
              open={open}
              onOpen={setOpen}
              searchBox={searchBox}
            />
          )}
          {tab === 'Decisions' && (
            <Decisions decisions={page.decisions} open={open} onOpen={setOpen} />
          )}
          {tab === 'Node' && <Node state={page.node} />}
        </div>
        {open !== undefined && <Explanation service={open} trigger={service} onClose={close} />}
      </main>
    </>
  );
}
