import { get as getHttp } from 'node:http';
import { get as getHttps } from 'node:https';

/**
 * HTTP status of a GET, or undefined if there is no answer within a second. Without `ca` any
 * certificate is accepted: this is a health check on loopback.
 */
export async function getStatus(url: string, ca?: Buffer): Promise<number | undefined> {
  return await new Promise((done) => {
    const isTls = url.startsWith('https:');
    const options = { timeout: 1000, agent: false as const };
    const request = isTls
      ? getHttps(url, {
          ...options,
          ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
        })
      : getHttp(url, options);
    request.once('response', (response) => {
      response.resume();
      done(response.statusCode);
    });
    request.once('timeout', () => request.destroy(new Error('timeout')));
    request.once('error', () => done(undefined));
  });
}
