import type { IncomingMessage } from 'node:http';

/** The path is taken as it was sent: URL would resolve dot segments, and take what follows two slashes for a host. */
export function readUrl({ url = '' }: IncomingMessage): { path: string; query: URLSearchParams } {
  const [path = ''] = url.split('?', 1);
  return { path, query: new URLSearchParams(url.slice(path.length + 1)) };
}
