import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, describe, expect, test } from '@jest/globals';
import { warnOfSharedPort } from '../../../src/server/hot-restart/hot-restart.ts';
import { listeningSockets } from '../../support/http/listening-sockets.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

const { servers, listen } = listeningSockets();

describe('warnOfSharedPort()', () => {
  const ended = new AbortController();
  afterAll(() => ended.abort());

  test('warns once of another process that keeps listening at the same address', async () => {
    const port = await listen('127.0.0.1');
    servers.splice(0)[0]?.close();
    await listen('127.0.0.1', port);
    const { logger, lines } = recordingLogger();
    const addresses = [{ host: '127.0.0.1', port, reusePort: true }];
    const watching = warnOfSharedPort(addresses, logger, ended.signal, 100);
    // A restart shares the port only for a moment, so it causes no warning, however often it happens.
    for (let updates = 0; updates < 3; updates++) {
      await listen('127.0.0.1', port);
      await delay(250);
      servers.pop()?.close();
      await delay(250);
    }
    expect(lines).toEqual([]);
    await listen('127.0.0.1', port);
    await watching;
    expect(lines).toMatchObject([{ level: 40, listen: [`127.0.0.1:${port}`] }]);
  });
});
