import { Agent } from 'undici';

/**
 * HTTP status of a GET, or undefined if there is no answer within a second. Without `ca` any
 * certificate is accepted: this is a health check on loopback.
 */
export async function getStatus(url: string, ca?: Buffer): Promise<number | undefined> {
  const { origin, pathname } = new URL(url);
  const agent = new Agent({ connect: ca === undefined ? { rejectUnauthorized: false } : { ca } });
  const signal = AbortSignal.timeout(1_000);
  try {
    const { statusCode, body } = await agent.request({
      origin,
      path: pathname,
      method: 'GET',
      signal,
    });
    await body.dump();
    return statusCode;
  } catch {
    return undefined;
  } finally {
    await agent.destroy();
  }
}
