import { describe, expect, test } from '@jest/globals';
import { FakeCredentials } from '../../support/http/credentials.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { useHttps } from '../../support/wrapper/https-wrapper.ts';
import { useWrapper } from '../../support/wrapper/use.ts';

const EXPOSED = new URL('http://user:s3cret@192.0.2.1:8080');
const MESSAGE = /^https: .*http:\/\/192\.0\.2\.1:8080 .*in clear text/;

describe("callers' tokens are not sent over the network in clear text", () => {
  test('the https listener is not started if an API server uses plain http', async () => {
    const credentials = new FakeCredentials(EXPOSED);
    await expect(useHttps({}, { credentials })).rejects.toMatchObject({
      code: 'InvalidSettings',
      message: expect.stringMatching(MESSAGE),
    });
  });

  test('the plain http listener is started, because its callers send no tokens', async () => {
    await useWrapper('http://127.0.0.1:1', { credentials: new FakeCredentials(EXPOSED) });
  });

  test.each(['http://localhost:1', 'http://127.0.0.2:1', 'http://[::1]:1', 'https://192.0.2.1'])(
    'nor is there anything against %s',
    async (server) => {
      await useHttps({}, { credentials: new FakeCredentials(new URL(server)) });
    },
  );

  test('a kubeconfig that later names such a server is logged as a warning', async () => {
    const { logger, lines } = recordingLogger();
    const credentials = new FakeCredentials(new URL('https://192.0.2.1'));
    await useHttps({}, { credentials, logger });
    credentials.servers = [EXPOSED];
    credentials.setTls({});
    const warnings = lines.filter(({ level }) => level >= 40);
    expect(warnings).toContainEqual(
      expect.objectContaining({ level: 40, msg: expect.stringMatching(MESSAGE) }),
    );
  });
});
