import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ContainerRuntime } from '../../../src/node/local-runtime/container-runtime.ts';
import { createCriClient } from '../../../src/node/local-runtime/cri-client.ts';
import { closedLater } from '../../support/closed-later.ts';
import { CriServer } from '../../support/local-runtime/cri-server.ts';
import { toSandbox } from '../../support/local-runtime/fake-runtime.ts';

let server: CriServer;
let runtime: ContainerRuntime;

beforeEach(async () => {
  server = closedLater(await new CriServer().listen());
  runtime = closedLater(createCriClient(server.path));
});

describe('the client of the container runtime', () => {
  test('reads sandboxes over the unix socket', async () => {
    server.sandboxes = [
      { id: 's1', pod: 'web', attempt: 3, createdAt: 1_700_000_000_123_456_789n, isStatic: true },
      { id: 's2', pod: 'db', ready: false },
    ];
    expect(await runtime.version()).toBe('fake 1.0');
    expect(await runtime.sandboxes()).toEqual(server.sandboxes.map(toSandbox));
  });

  test('reads the addresses of a sandbox in both families, and whether it uses the network of the node', async () => {
    server.sandboxes = [
      { id: 's1', pod: 'web', addresses: ['10.1.0.3', 'fd00::3'] },
      { id: 's2', pod: 'host', isHostNetwork: true },
    ];
    expect(await runtime.network('s1')).toEqual({
      isHostNetwork: false,
      addresses: ['10.1.0.3', 'fd00::3'],
    });
    expect(await runtime.network('s2')).toEqual({ isHostNetwork: true, addresses: [''] });
  });

  test('a sandbox that does not exist any more is undefined', async () => {
    expect(await runtime.network('s9')).toBeUndefined();
  });

  test('rejects within the time limit if the runtime hangs', async () => {
    server.hangs = true;
    const impatient = closedLater(createCriClient(server.path, 50));
    await expect(impatient.sandboxes()).rejects.toThrow('deadline_exceeded');
  });

  test('rejects if nothing listens, and works again after the runtime has restarted', async () => {
    await runtime.version();
    await server.stop();
    await expect(runtime.version()).rejects.toThrow(/unavailable|ENOENT|ECONNREFUSED/);
    await server.listen();
    expect(await runtime.version()).toBe('fake 1.0');
  });
});
