import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

/** What a client has seen that sends requests all the time. */
export interface LoadResults {
  requests: number;
  /** Errors of connections, and responses other than 200. */
  readonly failures: string[];
  /** Watches that ended correctly: a bookmark, then the end of the stream. */
  watches: number;
}

/**
 * Sends requests all the time: on new connections, on connections that are kept open, and with watches that are opened
 * again when they end. No request is retried.
 */
export function generateLoad(
  url: string,
  path: string,
): { readonly seen: LoadResults; stop(): Promise<void> } {
  const seen: LoadResults = { requests: 0, failures: [], watches: 0 };
  let running = true;
  const kept = new Agent({ keepAlive: true, maxSockets: 1 });
  const quiet = new Agent({ keepAlive: true, maxSockets: 1 });
  const loop = async (name: string, once: () => Promise<void>): Promise<void> => {
    while (running) {
      try {
        await once();
      } catch (error) {
        const { message, reusedSocket } = error as Error & { reusedSocket?: boolean };
        seen.failures.push(`${reusedSocket === false ? 'new connection' : name}: ${message}`);
        await delay(5);
      }
    }
  };
  const list = (agent: Agent | false, pauseMs: number) => async () => {
    const answer = await send(url + path, agent);
    for await (const _ of answer);
    if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode}`);
    seen.requests++;
    await delay(pauseMs);
  };
  const open = new Set<IncomingMessage>();
  const watch = async (): Promise<void> => {
    const answer = await send(`${url}${path}?watch=true&allowWatchBookmarks=true`, false);
    if (answer.statusCode !== 200) throw new Error(`HTTP ${answer.statusCode}`);
    open.add(answer);
    let text = '';
    try {
      for await (const chunk of answer) text += chunk;
    } catch (error) {
      if (running) throw error;
      return;
    } finally {
      open.delete(answer);
    }
    const last = text.trimEnd().split('\n').at(-1) ?? '';
    if (!last.includes('"BOOKMARK"')) throw new Error(`a watch ended with ${last.slice(0, 80)}`);
    seen.watches++;
  };
  const loops = [
    loop('one request', list(false, 5)),
    loop('one request', list(false, 20)),
    loop('kept connection', list(kept, 0)),
    loop('quiet connection', list(quiet, 100)),
    loop('watch', watch),
    loop('watch', watch),
  ];
  const stop = async (): Promise<void> => {
    running = false;
    for (const answer of open) answer.destroy();
    await Promise.all(loops);
    kept.destroy();
    quiet.destroy();
  };
  return { seen, stop };
}

function send(url: string, agent: Agent | false): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent, headers: { accept: 'application/json' } }, resolve);
    // A kept connection is sometimes a new one.
    outgoing.once('error', (error) => {
      reject(Object.assign(error, { reusedSocket: outgoing.reusedSocket }));
    });
    outgoing.end();
  });
}
