import type { Summary } from '../admin/explain/summary.ts';
import { adminUrl, createAdminClient } from './admin-client.ts';
import { type Call, EXIT } from './command.ts';

/** A shell waits for this long at most, in milliseconds. */
const ANSWER_MS = 1_000;
/** Names that a shell offers at most. */
const LIMIT = 100;

/**
 * Executes `__services`: prints the names of Services that begin with the argument. Prints nothing if there is no
 * wrapper, because an error would disturb the command line that the user types.
 */
export async function executeCompleteServices({ flags, args }: Call): Promise<number> {
  const [typed = ''] = args;
  const admin = createAdminClient(adminUrl(flags), { answerMs: ANSWER_MS });
  // A name is listed after another one, so the first names after the typed text are those that begin with it.
  const query = new URLSearchParams({ after: typed, limit: String(LIMIT) });
  const names = await admin.request<Summary>(`/explain?${query}`).then(
    ({ services }) => services.map(({ service }) => service),
    () => [],
  );
  const safe = names.filter((name) => name.startsWith(typed) && /^[\w./-]+$/.test(name));
  process.stdout.write(safe.map((name) => `${name}\n`).join(''));
  return EXIT.ok;
}
