import { expect, test } from '@jest/globals';
import { CLIENTS } from '../../harness/clients/clients.ts';
import { clientsOfPage, titleOf } from '../../harness/clients/clients-table.ts';

test('docs/clients.md has each client of the suite "clients", with the version that it installs', () => {
  expect(clientsOfPage()).toEqual(CLIENTS.map(titleOf));
});
