import { expect, test } from '@jest/globals';
import { sizeOfIptables, sizeOfNftables } from '../../../bench/kube-proxy/table-size.ts';

test('chains, rules, Services and endpoints are counted in the text of iptables-save', () => {
  const saved = `*filter
:INPUT ACCEPT [0:0]
:KUBE-SERVICES - [0:0]
-A INPUT -m conntrack --ctstate NEW -m comment --comment "kubernetes services" -j KUBE-SERVICES
-A KUBE-SERVICES -d 10.65.0.9/32 -p tcp -m comment --comment "bench/none:http has no endpoints" -m tcp --dport 80 -j REJECT
COMMIT
*nat
:KUBE-SERVICES - [0:0]
:KUBE-SVC-HJGZQ6SUUZK6N7JY - [0:0]
:KUBE-SEP-TGIQ74ZNBQ36LXB2 - [0:0]
-A KUBE-SERVICES -d 10.65.0.43/32 -p tcp -m comment --comment "bench/bench-00042:http cluster IP" -m tcp --dport 80 -j KUBE-SVC-HJGZQ6SUUZK6N7JY
-A KUBE-SERVICES -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" -m addrtype --dst-type LOCAL -j KUBE-NODEPORTS
-A KUBE-SVC-HJGZQ6SUUZK6N7JY -m comment --comment "bench/bench-00042:http -> 10.128.1.172:8080" -j KUBE-SEP-TGIQ74ZNBQ36LXB2
-A KUBE-SEP-TGIQ74ZNBQ36LXB2 -s 10.128.1.172/32 -m comment --comment "bench/bench-00042:http" -j KUBE-MARK-MASQ
-A KUBE-SEP-TGIQ74ZNBQ36LXB2 -p tcp -m comment --comment "bench/bench-00042:http" -m tcp -j DNAT --to-destination 10.128.1.172:8080
COMMIT
`;
  expect(sizeOfIptables(saved)).toEqual({
    chains: 5,
    rules: 7,
    elements: 0,
    services: 1,
    endpoints: 1,
    bytes: saved.length,
  });
});

test('the same, and elements, are counted in the JSON of nft', () => {
  const target = (name: string) => ({ goto: { target: name } });
  const key = (address: string) => ({ concat: [address, 'tcp', 80] });
  const endpoints = [
    [0, { concat: ['10.128.0.20', 8080] }],
    [1, { concat: ['10.128.0.21', 8080] }],
  ];
  const dnat = { dnat: { family: 'ip', addr: { map: { data: { set: endpoints } } } } };
  const elem = [
    [key('10.65.0.1'), target('service-a')],
    [key('10.65.0.2'), target('service-b')],
  ];
  const ruleset = JSON.stringify({
    nftables: [
      { metainfo: { json_schema_version: 1 } },
      { table: { family: 'ip', name: 'kube-proxy' } },
      { set: { family: 'ip', name: 'cluster-ips', elem: ['10.65.0.1', '10.65.0.2'] } },
      { map: { family: 'ip', name: 'service-ips', elem } },
      { map: { family: 'ip', name: 'no-endpoint-services' } },
      { chain: { family: 'ip', name: 'service-a' } },
      { rule: { family: 'ip', chain: 'service-a', expr: [{ match: {} }, dnat] } },
      { rule: { family: 'ip', chain: 'services', expr: [{ vmap: '@service-ips' }] } },
      { map: { family: 'ip6', name: 'service-ips' } },
    ],
  });
  expect(sizeOfNftables(ruleset)).toEqual({
    chains: 1,
    rules: 2,
    elements: 2 + 2 + 2,
    services: 2,
    endpoints: 2,
    bytes: ruleset.length,
  });
});
