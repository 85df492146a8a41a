import type { AnswerFault } from './relay-answerer.ts';

/** What a relay does to the connections that pass it. */
export type RelayFault =
  /** Each chunk comes later by so much. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Connections are accepted, and nothing is passed on; what was sent meanwhile comes when it heals. */
  | { readonly kind: 'silence' }
  /** Nobody listens, and open connections are reset. */
  | { readonly kind: 'refuse' }
  /** After so many more bytes to the client, each connection is reset. */
  | { readonly kind: 'cut'; readonly afterBytes: number }
  /** After so many more bytes to the client, each connection ends as if that had been all. */
  | { readonly kind: 'truncate'; readonly afterBytes: number }
  /** Alters one byte in each direction, after so many more. */
  | { readonly kind: 'corrupt'; readonly afterBytes: number }
  /**
   * As `corrupt`, of plain http, where nobody could tell that a byte of the payload is another: it hits the
   * first byte of a request, and of a chunk's length in an answer.
   */
  | { readonly kind: 'corruptFraming' }
  /** Connections are reset, and new ones answered by the relay itself. */
  | AnswerFault;

/** A chunk as it is passed on, and what becomes of the connection after it. */
export interface Passed {
  readonly bytes: Buffer;
  readonly ending?: 'reset' | 'end';
}

type Direction = 'toServer' | 'toClient';

/** The fault of a relay at present. */
export class Harm {
  harmed = 0;
  #fault: RelayFault | null = null;
  /** Counts the faults, so that each harms a connection once. */
  #round = 0;
  #silence: PromiseWithResolvers<void> | undefined;

  begin(fault: RelayFault | null): void {
    this.#fault = fault;
    if (fault !== null) {
      this.#round += 1;
      this.harmed = 0;
    }
    this.#silence?.resolve();
    this.#silence = fault?.kind === 'silence' ? Promise.withResolvers<void>() : undefined;
  }

  /** Resolves when bytes may pass. */
  async silence(): Promise<void> {
    while (this.#silence !== undefined) await this.#silence.promise;
  }

  /** Returns what each chunk of one direction of a connection goes through. */
  passer(direction: Direction): (chunk: Buffer) => Promise<Passed> {
    let round = 0;
    let left = 0;
    return async (chunk) => {
      await this.silence();
      const fault = this.#fault;
      if (fault === null) return { bytes: chunk };
      if (fault.kind === 'delay') {
        this.harmed += round === this.#round ? 0 : 1;
        round = this.#round;
        await new Promise((later) => setTimeout(later, fault.ms));
        return { bytes: chunk };
      }
      if (round !== this.#round) {
        round = this.#round;
        left = 'afterBytes' in fault ? fault.afterBytes : 0;
      }
      if (left < 0) return { bytes: chunk };
      const passed = harmChunk(fault, direction, chunk, left);
      // A length of -1: this connection has had its share.
      left = passed === undefined ? Math.max(0, left - chunk.length) : -1;
      if (passed !== undefined) this.harmed += 1;
      return passed ?? { bytes: chunk };
    };
  }
}

/** Undefined: the fault is not for this chunk. */
function harmChunk(
  fault: RelayFault,
  direction: Direction,
  chunk: Buffer,
  left: number,
): Passed | undefined {
  switch (fault.kind) {
    case 'cut':
    case 'truncate':
      if (direction === 'toServer' || chunk.length <= left) return undefined;
      return {
        bytes: chunk.subarray(0, left),
        ending: fault.kind === 'cut' ? 'reset' : 'end',
      };
    case 'corrupt':
      return chunk.length <= left ? undefined : { bytes: withByte(chunk, left, 0x55) };
    case 'corruptFraming':
      if (direction === 'toServer') return { bytes: withByte(chunk, 0, 0xff) };
      return startsHttpChunk(chunk) ? { bytes: withByte(chunk, 0, 0x4a) } : undefined;
    default:
      return undefined;
  }
}

/** A copy in which one byte has other bits. */
function withByte(chunk: Buffer, at: number, bits: number): Buffer {
  const copy = Buffer.from(chunk);
  copy[at] = (copy[at] ?? 0) ^ bits;
  return copy;
}

function startsHttpChunk(chunk: Buffer): boolean {
  return /^[0-9a-f]{1,8}\r\n/i.test(chunk.toString('latin1', 0, 10));
}
