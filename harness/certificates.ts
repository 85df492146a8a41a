import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generate } from 'selfsigned';

/** A certificate and its key, PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** A certificate authority. @param root the authority that signs it; default: itself */
export async function makeAuthority(name = 'test authority', root?: KeyPair): Promise<KeyPair> {
  return toKeyPair(
    await generate([{ name: 'commonName', value: name }], {
      keyType: 'ec',
      algorithm: 'sha256',
      ...(root && { ca: root }),
      extensions: [
        { name: 'basicConstraints', cA: true, critical: true },
        { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
      ],
    }),
  );
}

/** A certificate for a server or a client, valid for localhost, `name` and an address. */
export async function issue(
  authority: KeyPair,
  name: string,
  address = '127.0.0.1',
): Promise<KeyPair> {
  return toKeyPair(
    await generate([{ name: 'commonName', value: name }], {
      keyType: 'ec',
      algorithm: 'sha256',
      ca: authority,
      extensions: [
        { name: 'basicConstraints', cA: false },
        { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
        {
          name: 'subjectAltName',
          altNames: [
            { type: 2, value: 'localhost' },
            { type: 2, value: name },
            { type: 7, ip: address },
          ],
        },
      ],
    }),
  );
}

/** The files of an https listener at 127.0.0.1, and the authority that its clients need. */
export interface ServingFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

/** Writes a new certificate, its key and its authority to a folder. @param name in the certificate */
export async function writeServingFiles(folder: string, name = 'wrapper'): Promise<ServingFiles> {
  const authority = await makeAuthority();
  const { cert, key } = await issue(authority, name);
  const write = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  return {
    certFile: write('tls.crt', cert),
    keyFile: write('tls.key', key),
    caFile: write('wrapper-ca.crt', authority.cert),
  };
}

function toKeyPair(pems: { readonly cert: string; readonly private: string }): KeyPair {
  return { cert: pems.cert, key: pems.private };
}
