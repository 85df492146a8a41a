import { setImmediate as afterPoll } from 'node:timers/promises';

/** Maximum number of event loop turns in which pending connections are accepted. */
const MAX_TURNS = 500;
/**
 * Stop after this many turns in a row without a new connection. A connection can arrive in each turn that does other
 * work: after 3 quiet turns the kernel resets four times as many connections as after 20.
 */
const QUIET_TURNS = 20;

/**
 * Waits until the connections that are pending in a listening socket have been accepted. Close the socket immediately
 * afterwards: the kernel resets what is still pending then, which is what arrived in the last ten microseconds or so.
 *
 * @param accepted returns how many connections the socket has accepted since it was opened
 */
export async function acceptPending(accepted: () => number): Promise<void> {
  for (let turn = 0, quiet = 0; turn < MAX_TURNS && quiet < QUIET_TURNS; turn++) {
    const before = accepted();
    // libuv accepts one connection in each turn of the event loop.
    await afterPoll();
    quiet = accepted() === before ? quiet + 1 : 0;
  }
}
