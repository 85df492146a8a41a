import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Decisions } from './decisions.tsx';
import { Explanation } from './explanation.tsx';
import { ALL, type Filter } from './filter.ts';
import { Node } from './node.tsx';
import { Services } from './services.tsx';
import type { Known } from './store.ts';
import { Tabs } from './tabs.tsx';
import { Title } from './title.tsx';
import { useHash } from './use-hash.ts';

const TABS = ['Services', 'Decisions', 'Node'] as const;
type Tab = (typeof TABS)[number];
/** So often the times that are shown as ages are drawn anew, in milliseconds. */
const AGE_MS = 10_000;

/** The whole page. The Service that is explained is in the address, so that a link leads to it. */
export function App({ known }: { readonly known: Known }) {
  const [tab, setTab] = useState<Tab>('Services');
  const [open, setOpen] = useHash();
  const [filter, setFilter] = useState<Filter>(ALL);
  const searchBox = useRef<HTMLInputElement>(null);
  const close = useCallback(() => {
    setOpen(undefined);
    // The focus was in what is closed; it goes back to where one came from.
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
  const service = open === undefined ? undefined : known.byName.get(open);
  return (
    <>
      <Title known={known} />
      <Tabs tabs={TABS} tab={tab} onTab={setTab} badges={{ Decisions: known.decisions.length }} />
      <main class={open === undefined ? '' : 'split'}>
        <div class="panel" id="panel" role="tabpanel" aria-label={tab}>
          {tab === 'Services' && (
            <Services
              known={known}
              filter={filter}
              onFilter={setFilter}
              open={open}
              onOpen={setOpen}
              searchBox={searchBox}
            />
          )}
          {tab === 'Decisions' && (
            <Decisions decisions={known.decisions} open={open} onOpen={setOpen} />
          )}
          {tab === 'Node' && <Node state={known.node} />}
        </div>
        {open !== undefined && <Explanation service={open} trigger={service} onClose={close} />}
      </main>
    </>
  );
}
