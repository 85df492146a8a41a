import { generate } from 'selfsigned';
import { issue, type KeyPair, makeAuthority } from '../../../../harness/certificates.ts';
import type { ActiveFault } from '../active-fault.ts';
import type { FaultFront } from '../fault-front.ts';
import type { FaultKind } from '../fault-kind.ts';

/** Certificates that an API server may show by mistake, and one that is as good as its own. */
export interface OtherCertificates {
  readonly stranger: KeyPair;
  readonly expired: KeyPair;
  readonly otherName: KeyPair;
  readonly rotated: KeyPair;
}

/** @param address the address of the front */
export async function makeOtherCertificates(
  authority: KeyPair,
  address: string,
): Promise<OtherCertificates> {
  const make = async (names: object[], days: readonly [number, number]): Promise<KeyPair> => {
    const { cert, private: key } = await generate([{ name: 'commonName', value: 'other' }], {
      keyType: 'ec',
      algorithm: 'sha256',
      ca: authority,
      notBeforeDate: new Date(Date.now() + days[0] * 86_400_000),
      notAfterDate: new Date(Date.now() + days[1] * 86_400_000),
      extensions: [
        { name: 'basicConstraints', cA: false },
        { name: 'extKeyUsage', serverAuth: true },
        { name: 'subjectAltName', altNames: names as { type: 7; ip: string }[] },
      ],
    });
    return { cert, key };
  };
  const here = [{ type: 7, ip: address }];
  return {
    stranger: await issue(await makeAuthority('stranger'), 'api-server', address),
    expired: await make(here, [-20, -10]),
    otherName: await make([{ type: 7, ip: '192.0.2.1' }], [-1, 10]),
    rotated: await make(here, [-1, 10]),
  };
}

const FAILING = { room: 'TLS', unreachable: 'failing' } as const;

/** The handshake. */
export function tlsFaults(others: OtherCertificates): readonly FaultKind[] {
  return [
    shows('a certificate of another authority', others.stranger, true),
    shows('an expired certificate', others.expired, true),
    shows('a certificate of another address', others.otherName, true),
    shows('the certificate is rotated', others.rotated, false),
    {
      ...FAILING,
      name: 'plain HTTP on the TLS port',
      strike: async ({ front }) =>
        await front.beginTcp({
          kind: 'say',
          text: 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n',
        }),
    },
    {
      ...FAILING,
      name: 'cut in the handshake',
      strike: async ({ front }) => {
        const fault = { kind: 'cutAfter', bytes: [20, 420], ending: 'reset' } as const;
        const active = await front.beginTcp(fault);
        front.cut();
        return active;
      },
    },
    {
      room: 'TLS',
      name: 'HTTP/2 is no longer offered',
      needs: 'http2',
      strike: ({ front }) => offers(front, ['http/1.1']),
    },
    {
      ...FAILING,
      name: 'no protocol in common',
      strike: ({ front }) => offers(front, []),
    },
  ];
}

function shows(name: string, certificate: KeyPair, isWrong: boolean): FaultKind {
  return {
    ...(isWrong ? FAILING : { room: 'TLS' as const }),
    name,
    strike: ({ front }) => {
      front.showCertificate(certificate);
      return againNew(front, () => front.showCertificate(undefined));
    },
  };
}

function offers(front: FaultFront, protocols: readonly string[]): ActiveFault {
  front.offer(protocols);
  return againNew(front, () => front.offer(undefined));
}

/** Counts the connections that are made after all were reset. */
function againNew(front: FaultFront, restore: () => void): ActiveFault {
  const before = front.connections.length;
  front.cut();
  let after: number | undefined;
  return {
    hits: () => (after ?? front.connections.length) - before,
    end: async () => {
      after = front.connections.length;
      restore();
    },
  };
}
