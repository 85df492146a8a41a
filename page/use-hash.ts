import { useCallback, useEffect, useState } from 'preact/hooks';

/** The hash of the URL, and a function that sets it; undefined: empty. */
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
    // An invalid percent sign cannot be part of a Service name.
    return undefined;
  }
}
