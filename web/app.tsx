import type { RefObject } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Banner } from './banner.tsx';
import { Hatch } from './bar.tsx';
import { DECISIONS, Decisions } from './decisions.tsx';
import { Explanation } from './explanation.tsx';
import { listPath } from './filter.ts';
import { formatLink, type Link, TABS } from './link.ts';
import { Node } from './node.tsx';
import type { PageState, Wanted } from './poller.ts';
import { explainPath } from './service.ts';
import { Services } from './services.tsx';
import { Tabs } from './tabs.tsx';
import { Title } from './title.tsx';
import { useLink } from './use-link.ts';

/** Time between two updates of the displayed ages, in milliseconds. */
const AGE_MS = 1_000;

interface AppProps {
  readonly page: PageState;
  /** Replaces what is requested. */
  readonly want: (wanted: Wanted) => void;
}

/** The whole page. The hash of the URL says what it shows, so that it can be linked. */
export function App({ page, want }: AppProps) {
  const [link, change] = useLink();
  const { tab, open } = link;
  const { answers } = page;
  const searchBox = useRef<HTMLInputElement>(null);
  const close = useCallback(() => {
    change({ open: undefined });
    // The focus was in the closed part, so it returns to the list.
    const row = document.querySelector<HTMLElement>('#panel tr.open a');
    const tab = document.querySelector<HTMLElement>('[role=tab][aria-selected=true]');
    (row ?? tab)?.focus();
  }, [change]);
  const paths = pathsOf(link);
  useEffect(() => want(paths), [JSON.stringify(paths)]);
  useAges();
  useShortcuts(searchBox, open === undefined ? undefined : close);
  const hrefOf = (service: string): string => `#${formatLink({ ...link, open: service })}`;
  return (
    <>
      <Hatch />
      <Title page={page} />
      <Banner page={page} onDetails={() => change({ tab: 'Node' })} />
      <Tabs
        tabs={TABS}
        tab={tab}
        onTab={(next) => change({ tab: next })}
        badges={{ Decisions: answers.node?.body?.decisions }}
      />
      <main class={open === undefined ? '' : 'split'}>
        <div class="panel" id="panel" role="tabpanel" aria-label={tab}>
          {tab === 'Services' && (
            <Services
              answers={answers}
              filter={link.filter}
              onFilter={(next) => change({ filter: next })}
              open={open}
              hrefOf={hrefOf}
              searchBox={searchBox}
            />
          )}
          {tab === 'Decisions' && (
            <Decisions
              answer={answers.decisions?.body}
              problem={answers.decisions?.problem}
              open={open}
              hrefOf={hrefOf}
            />
          )}
          {tab === 'Node' && <Node state={answers.node?.body} status={answers.status?.body} />}
        </div>
        {open !== undefined && (
          <Explanation service={open} {...explanationOf(open, answers)} onClose={close} />
        )}
      </main>
    </>
  );
}

/** What the page needs. The node is the first, because it says whether the wrapper is well. */
function pathsOf({ tab, open, filter }: Link): Wanted {
  return {
    node: 'node',
    ...(tab === 'Services' ? { list: listPath(filter), summary: 'summary' } : {}),
    ...(tab === 'Decisions' ? { decisions: DECISIONS } : {}),
    ...(tab === 'Node' ? { status: 'status' } : {}),
    ...(open === undefined ? {} : { explained: explainPath(open) }),
  };
}

function explanationOf(service: string, { explained }: PageState['answers']) {
  const path = explainPath(service);
  if (path === undefined) {
    return { explained: undefined, problem: 'the name of a Service must be <namespace>/<name>' };
  }
  const answer = explained?.path === path ? explained : undefined;
  return { explained: answer?.body, problem: answer?.problem };
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
