import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** How a command inside the machine ended. */
export interface GuestResult {
  /** Exit code; 137 if it was killed for taking too long. */
  readonly code: number;
  readonly stdout: string;
  /** Empty unless it failed. */
  readonly stderr: string;
}

/** Time limit of a command. */
const SECONDS = 20;

/** The host's end of the line to the agent inside a machine; see guest/agent.sh. */
export type GuestChannel = Awaited<ReturnType<typeof listenForGuest>>;

/** Listens on the Unix socket, to which QEMU connects when it starts. */
export async function listenForGuest(socketPath: string) {
  const waiting = new Map<string, (answer: GuestResult | Error) => void>();
  let agent: Socket | undefined;
  let lastId = 0;
  const server = createServer();
  const ready = new Promise<void>((done) => {
    server.once('connection', (socket) => {
      agent = socket;
      socket.on('error', () => {});
      createInterface({ input: socket }).on('line', (line) => {
        if (line === 'ready') done();
        const [id = '', code, stdout, stderr] = line.split(' ');
        waiting.get(id)?.({ code: Number(code), stdout: decode(stdout), stderr: decode(stderr) });
      });
    });
  });
  server.listen(socketPath);
  await once(server, 'listening');
  const run = async (command: string) => {
    lastId += 1;
    const id = String(lastId);
    // The agent kills it in time; this is for a machine that hangs, or has ended.
    let timer: NodeJS.Timeout | undefined;
    const answer = await new Promise<GuestResult | Error>((settle) => {
      waiting.set(id, settle);
      agent?.write(`${id} ${SECONDS} ${Buffer.from(command).toString('base64')}\n`);
      const error = new Error(`the machine gave no answer in ${SECONDS + 5} s to: ${command}`);
      timer = setTimeout(() => settle(error), (SECONDS + 5) * 1_000);
    });
    clearTimeout(timer);
    waiting.delete(id);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return {
    /** Resolves when the agent takes commands. */
    ready,
    /** Runs a shell command. Rejects if there is no answer some seconds after its time limit. */
    run,
    /** Commands without an answer fail. */
    close: () => {
      for (const settle of waiting.values()) settle(new Error('the machine was stopped'));
      agent?.destroy();
      server.close();
    },
  };
}

/** Of a letter and base64. */
function decode(field = ''): string {
  return Buffer.from(field.slice(1), 'base64').toString('utf8');
}
