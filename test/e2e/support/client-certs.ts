import { join } from 'node:path';
import { runCommand } from './run-command.ts';

/** An authority for client certificates, which the API server trusts. */
export interface ClientCertAuthority {
  readonly caFile: string;
  /** Makes a certificate that names its owner `user`, of these groups. */
  issue(user: string, groups?: readonly string[]): Promise<ClientCert>;
}

/** Paths of a client certificate in PEM. */
export interface ClientCert {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Makes an authority with its files in `folder`. */
export async function createClientCertAuthority(folder: string): Promise<ClientCertAuthority> {
  const file = (name: string) => join(folder, `client-${name}`);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const caFile = file('ca.crt');
  const caKey = file('ca.key');
  const subject = ['-subj', '/CN=client-ca'];
  await runCommand('openssl', [
    'req',
    '-x509',
    ...newKey,
    '-days',
    '30',
    ...subject,
    '-keyout',
    caKey,
    '-out',
    caFile,
  ]);
  let issued = 0;
  return {
    caFile,
    issue: async (user, groups = []) => {
      issued += 1;
      const keyFile = file(`${issued}.key`);
      const certFile = file(`${issued}.crt`);
      // Kubernetes takes the user from CN and the groups from O.
      const name = [...groups.map((group) => `/O=${group}`), `/CN=${user}`].join('');
      const request = ['req', '-new', ...newKey, '-subj', name, '-keyout', keyFile];
      const csr = await runCommand('openssl', request);
      const sign = ['x509', '-req', '-CA', caFile, '-CAkey', caKey, '-days', '30'];
      await runCommand('openssl', [...sign, '-set_serial', `${issued}`, '-out', certFile], {
        input: csr,
      });
      return { certFile, keyFile };
    },
  };
}
