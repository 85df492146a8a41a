import { ensureBinary } from '../harness/process/binaries.ts';

/** Builds the measuring client if it is missing or out of date and returns its path. */
export async function ensureClientBinary(report: (line: string) => void): Promise<string> {
  const client = {
    name: 'bench-client',
    version: '3',
    module: '../bench/client',
    target: '.',
    flags: [],
    ldflags: '',
  };
  return await ensureBinary(client, report);
}
