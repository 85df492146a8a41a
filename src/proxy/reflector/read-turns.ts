import type { UpstreamBody } from '../upstream/upstream-body.ts';

/**
 * Reads a body to its end. Calls `use` once in a turn of the event loop, with all chunks that have arrived in it. So a
 * process that falls behind handles more of them together. What arrived before the body broke is used before the
 * error is thrown. What `use` throws ends the request and is thrown here.
 */
export async function readTurns(
  body: Pick<UpstreamBody, 'each' | 'destroy'>,
  use: (chunks: readonly Buffer[]) => void,
): Promise<void> {
  let chunks: Buffer[] = [];
  let failure: { readonly error: unknown } | undefined;
  const useArrived = (): void => {
    if (chunks.length === 0 || failure !== undefined) return;
    const arrived = chunks;
    chunks = [];
    try {
      use(arrived);
    } catch (error) {
      failure = { error };
      body.destroy();
    }
  };
  const broken = await body
    .each((chunk) => {
      // It runs after all sockets that were ready in this turn were read.
      if (chunks.push(chunk) === 1) setImmediate(useArrived);
    })
    .catch((error: unknown) => ({ error }));
  useArrived();
  const thrown = failure ?? broken;
  if (thrown !== undefined) throw thrown.error;
}
