import '../src/run/no-inspector.ts';
import { processListens } from '../src/client/system/proc-net-tcp.ts';
import { messageOf } from '../src/util/message-of.ts';

/*
 * For startup probes: whether the first process of this container listens at a port. A probe over HTTP cannot tell,
 * because the Pod before shares the port and answers it.
 *
 *   node listens.js 10361
 */
const FIRST = 1;

function problemAt(port: number): string | undefined {
  try {
    if (processListens(FIRST, port)) return undefined;
    return `this Pod itself does not listen at port ${port} yet; its log says what it waits for`;
  } catch (error) {
    return `${messageOf(error)}: process 1 must be that of the container (no hostPID, no shareProcessNamespace)`;
  }
}

const problem = problemAt(Number(process.argv[2]));
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exitCode = 1;
}
