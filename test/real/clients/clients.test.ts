import { beforeAll, expect, jest, test } from '@jest/globals';
import { MOMENTS, type Moment } from '../../../harness/clients/clients.ts';
import { writeClientsTable } from '../../../harness/clients/clients-table.ts';
import { type MeasuredClient, measureClients } from '../../../harness/clients/measure-clients.ts';

/* Real clients of other languages follow EndpointSlices through restarts of the wrapper. */

jest.setTimeout(1_200_000);

let measured: MeasuredClient[];

beforeAll(async () => {
  measured = await measureClients((line) => process.stderr.write(`${line}\n`));
  if (process.env.KPW_WRITE === '1') writeClientsTable(measured);
});

test.each<Moment>(MOMENTS)('over https each client has the change after "%s"', (moment) => {
  const late = measured
    .filter(({ listener, ms }) => listener === 'https' && ms[moment] === undefined)
    .map(({ client, ended }) => `${client.name} (${ended ?? 'runs'})`);
  expect(late).toEqual([]);
});
