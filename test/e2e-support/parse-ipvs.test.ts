import { expect, test } from '@jest/globals';
import { backendsOfIpvs, parseAddresses, parseIpvs } from '../e2e/ipvs/support/parse-ipvs.ts';

/** As ipvsadm 1.31 printed it. */
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
`;

test('new connections go to the real servers of a virtual server, without those of weight 0', () => {
  expect(Object.fromEntries(backendsOfIpvs(parseIpvs(listing)))).toEqual({
    'TCP 10.96.0.1:443': ['10.99.0.1:6443'],
    'TCP 10.96.17.195:80': ['10.244.1.1:8080', '10.244.3.1:8080'],
    'UDP 10.96.0.10:53': [],
  });
  expect(parseIpvs(listing)[1]).toMatchObject({
    scheduler: 'lblcr',
    realServers: [{ weight: 1 }, { weight: 1 }, { endpoint: '10.244.2.1:8080', weight: 0 }],
  });
});

test.each(['FWM  1 rr', '  -> 10.244.2.1:8080 Masq 1 2 '])(
  'a line that is not understood is an error: %j',
  (line) => {
    expect(() => parseIpvs(`${listing}${line}\n`)).toThrow('not understood');
  },
);

test('the addresses of a device are sorted; a device without any has none', () => {
  const json = '[{"addr_info":[{"local":"10.96.0.9"},{"local":"10.96.0.1"}]}]';
  expect(parseAddresses(json)).toEqual(['10.96.0.1', '10.96.0.9']);
  expect(parseAddresses('[{}]')).toEqual([]);
});
