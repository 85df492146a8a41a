import type { IncomingMessage } from 'node:http';

/** Returns the path exactly as sent. URL would resolve dot segments, and parse a host after two slashes. */
export function readUrl({ url = '' }: IncomingMessage): { path: string; query: URLSearchParams } {
  const [path = ''] = url.split('?', 1);
  return { path, query: new URLSearchParams(url.slice(path.length + 1)) };
}
