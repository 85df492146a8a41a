import { printLine } from '../../untrusted-text.ts';
import { VERSION } from '../../version.ts';
import { type Call, EXIT } from '../command-line/command.ts';

/** Executes `version`. What a running wrapper is, `status` says. */
export async function executeVersion({ flags, session }: Call): Promise<number> {
  await session.print({ data: { version: VERSION }, text: () => printLine(VERSION) }, flags);
  return EXIT.ok;
}
