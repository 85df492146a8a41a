import { describe, expect, test } from '@jest/globals';
import { backendsOfIpvs, parseAddresses, parseIpvs } from '../e2e/ipvs/support/parse-ipvs.ts';

/** As ipvsadm 1.31 printed it, but for the last two servers. */
const listing = `IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn
TCP  10.96.0.1:443 rr
  -> 10.99.0.1:6443               Masq    1      0          0         
TCP  10.96.17.195:80 lblcr persistent 10800
  -> 10.244.3.1:8080              Masq    1      2          3         
  -> 10.244.1.1:8080              Masq    1      0          0         
  -> 10.244.2.1:8080              Masq    0      1          0         
UDP  10.96.0.10:53 rr
SCTP [fd00::1]:7777 sed
  -> [fd00:1::5]:7778             Masq    1      0          0         
`;

describe('parseIpvs()', () => {
  test('takes protocol, address, port, scheduler and flags of each virtual server', () => {
    const servers = parseIpvs(listing).map(({ realServers, ...server }) => server);
    expect(servers).toEqual([
      { protocol: 'TCP', address: '10.96.0.1', port: 443, scheduler: 'rr', flags: '' },
      {
        protocol: 'TCP',
        address: '10.96.17.195',
        port: 80,
        scheduler: 'lblcr',
        flags: 'persistent 10800',
      },
      { protocol: 'UDP', address: '10.96.0.10', port: 53, scheduler: 'rr', flags: '' },
      { protocol: 'SCTP', address: 'fd00::1', port: 7777, scheduler: 'sed', flags: '' },
    ]);
  });

  test('takes weight and connections of each real server', () => {
    const counts = parseIpvs(listing)[1]?.realServers.map((server) => [
      server.endpoint,
      server.forward,
      server.weight,
      server.activeConnections,
      server.inactiveConnections,
    ]);
    expect(counts).toEqual([
      ['10.244.3.1:8080', 'Masq', 1, 2, 3],
      ['10.244.1.1:8080', 'Masq', 1, 0, 0],
      ['10.244.2.1:8080', 'Masq', 0, 1, 0],
    ]);
  });

  test('gives nothing for an empty table', () => {
    expect(parseIpvs(listing.split('\n').slice(0, 3).join('\n'))).toEqual([]);
  });

  test.each(['FWM  1 rr', 'TCP  10.96.0.1 rr', '  -> 10.99.0.1:6443               Masq    1'])(
    'refuses the line %j',
    (line) => {
      expect(() => parseIpvs(`${listing}${line}\n`)).toThrow(
        `ipvsadm printed a line that is not understood: ${line}`,
      );
    },
  );

  test('refuses a real server before any virtual one', () => {
    const head = listing.split('\n').slice(0, 3);
    const line = '  -> 10.99.0.1:6443               Masq    1      0          0         ';
    expect(() => parseIpvs([...head, line].join('\n'))).toThrow('not understood');
  });
});

test('backendsOfIpvs() leaves out real servers of weight 0 and keeps virtual ones without any', () => {
  expect(backendsOfIpvs(parseIpvs(listing))).toEqual(
    new Map([
      ['TCP 10.96.0.1:443', ['10.99.0.1:6443']],
      ['TCP 10.96.17.195:80', ['10.244.1.1:8080', '10.244.3.1:8080']],
      ['UDP 10.96.0.10:53', []],
      ['SCTP [fd00::1]:7777', ['[fd00:1::5]:7778']],
    ]),
  );
});

test('parseAddresses() sorts the addresses of the device', () => {
  const info = ['10.96.17.195', '10.96.0.1'].map((local) => ({ family: 'inet', local }));
  expect(parseAddresses(JSON.stringify([{ ifname: 'kube-ipvs0', addr_info: info }]))).toEqual([
    '10.96.0.1',
    '10.96.17.195',
  ]);
  expect(parseAddresses('[{"ifname":"kube-ipvs0"}]')).toEqual([]);
});
