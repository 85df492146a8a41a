import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { formatLink, type Link, parseLink } from './link.ts';

/**
 * What the hash of the URL shows, and a function that changes parts of it. The Back button of the browser returns to
 * the previous tab or Service. It does not undo single letters of a search.
 */
export function useLink(): [Link, (part: Partial<Link>) => void] {
  const [link, setLink] = useState(() => parseLink(location.hash));
  const current = useRef(link);
  current.current = link;
  useEffect(() => {
    const onChange = (): void => setLink(parseLink(location.hash));
    window.addEventListener('hashchange', onChange);
    return () => window.removeEventListener('hashchange', onChange);
  }, []);
  const change = useCallback((part: Partial<Link>) => {
    const next = { ...current.current, ...part };
    current.current = next;
    setLink(next);
    const url = `#${formatLink(next)}`;
    if ('open' in part || 'tab' in part) history.pushState(null, '', url);
    else history.replaceState(null, '', url);
  }, []);
  return [link, change];
}
