import { useEffect, useState } from 'preact/hooks';

/** Time for which a button confirms that it has copied, in milliseconds. */
const CONFIRM_MS = 2_000;

/** A button that copies a text. */
export function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const [result, setResult] = useState<string>();
  useEffect(() => {
    if (result === undefined) return;
    const timer = setTimeout(() => setResult(undefined), CONFIRM_MS);
    return () => clearTimeout(timer);
  }, [result]);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setResult('Copied');
    } catch {
      // Browsers refuse it on http pages of other hosts than localhost.
      setResult('The browser refused');
    }
  };
  return (
    <button type="button" class="copy" title={text} aria-live="polite" onClick={() => void copy()}>
      {result ?? label}
    </button>
  );
}
