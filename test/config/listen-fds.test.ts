import { describe, expect, test } from '@jest/globals';
import { takeListenFds } from '../../src/config/listen-fds.ts';

const take = (env: Record<string, string>) => Object.fromEntries(takeListenFds({ ...env }, 7));

describe('takeListenFds()', () => {
  test.each([
    [{ LISTEN_PID: '7', LISTEN_FDS: '1' }, { listen: 3 }],
    [{ LISTEN_PID: '7', LISTEN_FDS: '1', LISTEN_FDNAMES: 'wrapper.socket' }, { listen: 3 }],
    [{ LISTEN_PID: '7', LISTEN_FDS: '1', LISTEN_FDNAMES: 'https' }, { https: 3 }],
    [
      { LISTEN_PID: '7', LISTEN_FDS: '3', LISTEN_FDNAMES: 'admin:http:https' },
      { adminListen: 3, listen: 4, https: 5 },
    ],
    [{}, {}],
    [{ LISTEN_PID: '8', LISTEN_FDS: '1' }, {}],
    [{ LISTEN_FDS: '1' }, {}],
    [{ LISTEN_PID: '7', LISTEN_FDS: '0' }, {}],
    [{ LISTEN_PID: '7', LISTEN_FDS: 'many' }, {}],
  ])('%j is %j', (env, fds) => {
    expect(take(env)).toEqual(fds);
  });

  test.each(['', 'http', 'http:http', 'http:other'])('refuses two sockets named %j', (names) => {
    const env = { LISTEN_PID: '7', LISTEN_FDS: '2', LISTEN_FDNAMES: names };
    expect(() => take(env)).toThrow(/FileDescriptorName/);
  });

  test('removes the variables from the environment', () => {
    const env = { LISTEN_PID: '7', LISTEN_FDS: '1', LISTEN_FDNAMES: 'http', PATH: '/bin' };
    takeListenFds(env, 7);
    expect(env).toEqual({ PATH: '/bin' });
  });
});
