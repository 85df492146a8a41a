import { describe, expect, test } from '@jest/globals';
import { parseIptables } from '../../harness/kernel-tables/parse-iptables.ts';
import { parseIpvs } from '../../harness/kernel-tables/parse-ipvs.ts';
import { parseNftables } from '../../harness/kernel-tables/parse-nftables.ts';

test('parseIpvs() parses virtual and real servers, except real servers that take no new connections', () => {
  const text = `IP Virtual Server version 1.2.1 (size=4096)
Prot LocalAddress:Port Scheduler Flags
  -> RemoteAddress:Port Forward Weight ActiveConn InActConn
TCP  0A60000A:0050 rr
  -> 0AF4020A:1F90      Masq    1      0          0
  -> 0AF4010A:1F90      Masq    1      0          0
  -> 0AF4030A:1F90      Masq    0      1          0
UDP  [fd00:0000:0000:0000:0000:0000:0000:0010]:0035 rr persistent 10800
  -> [fd00:0001:0000:0000:0000:0000:0000:0005]:0035      Masq    1      0          0
TCP  0A60000B:0050 rr
`;
  expect(parseIpvs(text)).toEqual(
    new Map([
      ['TCP 10.96.0.10:80', ['10.244.1.10:8080', '10.244.2.10:8080']],
      ['UDP [fd00::10]:53', ['[fd00:1::5]:53']],
      ['TCP 10.96.0.11:80', []],
    ]),
  );
});

test('parseIptables() follows the chains; a REJECT means no backends', () => {
  const text = `*filter
:KUBE-SERVICES - [0:0]
-A KUBE-SERVICES -d 10.96.0.11/32 -p tcp -m comment --comment "default/none has no endpoints" -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable
COMMIT
*nat
-A KUBE-SERVICES -d 10.96.0.10/32 -p tcp -m comment --comment "default/web -j x" -m tcp --dport 80 -j KUBE-SVC-A
-A KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
-A KUBE-SVC-A ! -s 10.0.0.0/8 -d 10.96.0.10/32 -p tcp -m tcp --dport 80 -j KUBE-MARK-MASQ
-A KUBE-SVC-A -m comment --comment "x" -m statistic --mode random --probability 0.5 -j KUBE-SEP-1
-A KUBE-SVC-A -j KUBE-SEP-2
-A KUBE-SEP-1 -p tcp -m tcp -j DNAT --to-destination 10.244.2.10:8080
-A KUBE-SEP-2 -p tcp -m tcp -j DNAT --to-destination 10.244.1.10:8080
COMMIT
`;
  expect(parseIptables(text)).toEqual(
    new Map([
      ['TCP 10.96.0.11:80', []],
      ['TCP 10.96.0.10:80', ['10.244.1.10:8080', '10.244.2.10:8080']],
    ]),
  );
});

describe('parseNftables()', () => {
  const concat = (address: string, port: number, protocol: string | number = 'tcp') => ({
    concat: [address, protocol, port],
  });
  const map = (name: string, elem: unknown[]) => ({ map: { family: 'ip', name, elem } });
  const rule = (chain: string, ...expr: unknown[]) => ({ rule: { family: 'ip', chain, expr } });

  test('reads a map of endpoints (since 1.35), one endpoint (since 1.37), and chains for each of them (before)', () => {
    const nftables = [
      { metainfo: {} },
      map('no-endpoint-services', [
        [concat('10.96.0.12', 80), { goto: { target: 'reject-chain' } }],
      ]),
      map('service-ips', [
        [concat('10.96.0.10', 80), { goto: { target: 'service-A' } }],
        [concat('10.96.0.11', 80), { goto: { target: 'service-B' } }],
        [concat('10.96.0.13', 80), { goto: { target: 'service-C' } }],
      ]),
      rule('service-A', {
        dnat: { addr: { map: { data: { set: [[0, { concat: ['10.244.1.10', 8080] }]] } } } },
      }),
      rule('service-B', { vmap: { data: { set: [[0, { goto: { target: 'endpoint-1' } }]] } } }),
      rule('service-C', { match: {} }, { dnat: { addr: '10.244.3.10', port: 8080 } }),
      rule('endpoint-1', { dnat: { addr: '10.244.2.10', port: 8080 } }),
    ];
    expect(parseNftables(JSON.stringify({ nftables }))).toEqual(
      new Map([
        ['TCP 10.96.0.12:80', []],
        ['TCP 10.96.0.10:80', ['10.244.1.10:8080']],
        ['TCP 10.96.0.11:80', ['10.244.2.10:8080']],
        ['TCP 10.96.0.13:80', ['10.244.3.10:8080']],
      ]),
    );
  });

  test('reads protocols as numbers, which nft writes where there is no /etc/protocols', () => {
    const line = { goto: { target: 'reject-chain' } };
    const elements = [6, 17, 132].map((protocol) => [concat('10.96.0.12', 80, protocol), line]);
    const nftables = [map('no-endpoint-services', elements)];
    expect([...parseNftables(JSON.stringify({ nftables })).keys()]).toEqual([
      'TCP 10.96.0.12:80',
      'UDP 10.96.0.12:80',
      'SCTP 10.96.0.12:80',
    ]);
  });
});
