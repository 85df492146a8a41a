import { useCallback, useEffect, useState } from 'preact/hooks';

/** What follows the # in the address, and how to change it; undefined: nothing. */
export function useHash(): [string | undefined, (value: string | undefined) => void] {
  const [value, setValue] = useState(read);
  useEffect(() => {
    const onChange = (): void => setValue(read());
    window.addEventListener('hashchange', onChange);
    return () => window.removeEventListener('hashchange', onChange);
  }, []);
  const change = useCallback((next: string | undefined) => {
    location.hash = next ?? '';
  }, []);
  return [value, change];
}

function read(): string | undefined {
  const hash = location.hash.slice(1);
  try {
    return hash === '' ? undefined : decodeURI(hash);
  } catch {
    // Somebody has typed a percent sign: no Service is called so.
    return undefined;
  }
}
