import { expect, jest, test } from '@jest/globals';
import type { TableRow } from '../../src/admin/explain/table.ts';
import type { AdminClient } from '../../src/commands/client/admin-client.ts';

const kernel = new Map([
  ['TCP 10.96.0.10:80', ['10.0.0.1:80']],
  ['TCP 10.96.0.10:81', ['10.0.0.1:81']],
]);
jest.unstable_mockModule('../../src/commands/node/check/read-kernel-table.ts', () => ({
  readKernelTable: async () => kernel,
  detectMode: async () => 'iptables',
}));
const { checkKernel } = await import('../../src/commands/node/check/check-kernel.ts');

test.each([
  ['10.0.0.1:80', 'ok', /all 1 Service addresses match/],
  ['10.0.0.2:80', 'problem', /1 of 1 Service addresses differ/],
])('check names the Services that it does not compare; with %s', async (backend, state, text) => {
  const row = { protocol: 'TCP', clusterIP: '10.96.0.10', fewerAllowed: false };
  const rows: TableRow[] = [
    { ...row, service: 'default/huge', port: 80, backends: [backend] },
    { ...row, service: 'default/huge', port: 81, backends: [], truncated: true },
  ];
  const admin = { request: async () => ({ rows }) } as unknown as AdminClient;
  const line = await checkKernel(admin, { kubeProxyMetrics: '', wait: 0 });
  expect(line).toMatchObject({ state, text: expect.stringMatching(text) });
  expect(line.text).toMatch(
    /; 1 are not compared, because their Service has too many ports and endpoints: default\/huge$/,
  );
});
