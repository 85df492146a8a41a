import { writeFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { generate } from 'selfsigned';
import { writeServingFiles } from '../../harness/certificates.ts';
import { logReadiness } from '../../src/relay/readiness-log.ts';
import { relayProblem } from '../../src/relay/relay-reading.ts';
import { closedLater } from '../support/closed-later.ts';
import { eventually } from '../support/eventually.ts';
import { type LogLine, recordingLogger } from '../support/recording-logger.ts';
import { useRelayOf } from '../support/relay/relay-fixture.ts';
import { useFolder } from '../support/use-folder.ts';
import { useCluster } from '../support/wrapper/use.ts';

const said = (lines: readonly LogLine[]) =>
  lines.flatMap(
    ({ msg }) => /^(ready|not ready|the https certificate has expired)/.exec(msg)?.[1] ?? [],
  );

/** A certificate that was valid for a minute, a day ago. */
async function writeExpired(certFile: string, keyFile: string): Promise<void> {
  const notBeforeDate = new Date(Date.now() - 86_400_000);
  const notAfterDate = new Date(notBeforeDate.getTime() + 60_000);
  const options = { keyType: 'ec', algorithm: 'sha256', notBeforeDate, notAfterDate } as const;
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'old' }], options);
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
}

// The log was silent, and the relay was not ready for ever.
test('a certificate that has expired is said at the start, and makes the relay unready', async () => {
  const { logger, lines } = recordingLogger();
  const files = await writeServingFiles(useFolder());
  await writeExpired(files.certFile, files.keyFile);
  const relay = await useRelayOf(await useCluster().listen(), files, { logger });
  expect(said(lines)).toEqual(['the https certificate has expired']);
  await eventually(() => relay.views.problem, undefined);
  closedLater({
    close: logReadiness(() => relayProblem(relay), logger, { lookMs: 5, startMs: 0 }),
  });
  await eventually(() => said(lines).at(-1), 'not ready');
  expect(lines.at(-1)?.err).toMatch(/^https-certificate: expired at 20/);
});
