import { join } from 'node:path';
import { runCommand } from '../process/run-command.ts';

/** A self-signed serving certificate; the certificate is its own authority. */
export interface ServingCert {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Makes `<name>.crt` and `<name>.key` in `folder`, valid for localhost and for the addresses. */
export async function makeServingCert(
  folder: string,
  name: string,
  addresses: readonly string[],
): Promise<ServingCert> {
  const certFile = join(folder, `${name}.crt`);
  const keyFile = join(folder, `${name}.key`);
  const names = ['DNS:localhost', ...addresses.map((address) => `IP:${address}`)].join(',');
  const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  args.push('-nodes', '-days', '30', '-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`);
  await runCommand('openssl', [...args, '-keyout', keyFile, '-out', certFile]);
  return { certFile, keyFile };
}
