import type { ServerResponse } from 'node:http';
import { STREAM_MEDIA_TYPES } from '../../client/api/media-type.ts';
import { statusOf } from '../../client/api/status.ts';
import type { Status } from '../../errors.ts';
import type { Codec, Encoding } from '../../filter/codec/codec.ts';
import type { FrameBatch } from '../../filter/view/event-frames.ts';
import type { EventLog } from '../../filter/view/event-log.ts';
import type { View } from '../../filter/view/view.ts';
import type { ViewState } from '../../filter/view/view-state.ts';
import { writeBlocks } from '../http/block-writer.ts';
import { LARGE_BLOCK_BYTES, WRITE_BLOCK_BYTES, type WriteLimits } from '../http/large-blocks.ts';
import { startWriteTimeout } from '../http/write-timeout.ts';

export interface WatcherOptions extends WriteLimits {
  readonly view: View;
  readonly response: ServerResponse;
  /** The position in the log at which to begin. */
  readonly position: number;
  /** Whether a bookmark marks the end of the initial events. */
  readonly initialEventsEnd: boolean;
  readonly bookmarks: boolean;
  /** Time between bookmarks, in milliseconds. */
  readonly bookmarkMs: number;
  /** The server ends the watch after this time, in milliseconds. */
  readonly timeoutMs: number;
}

/** What a frame adds to its object at most. */
const FRAME_BYTES = 256;
/** How long a client may take to read the end of its stream, in milliseconds. */
const END_TIMEOUT_MS = 10_000;

/**
 * One watch of one client: a position in the log, and the http response that follows it.
 *
 *     initial events --> following the log <--> a large frame
 *           |                  |                     |
 *           └──────────────────┴──────────▶ ended ◀──┘
 *
 * The watcher writes until the socket is full, and continues when it has drained. It ends when its time is over, when
 * the view or the response closes, and with ERROR 410 when its position has left the log.
 *
 * The watcher buffers no events: what the client has not read yet waits in the log. A bookmark is written only when
 * the client has everything before it. A client that reads nothing for a while is disconnected, because its socket
 * keeps a batch in memory, and a client without all initial events keeps that whole state. Initial events and frames
 * above a block are written in blocks, so no client keeps more than one.
 */
export class Watcher {
  readonly #view: View;
  readonly #log: EventLog;
  /** The codec of the stream, while the view may change to another. */
  readonly #codec: Codec;
  readonly #response: ServerResponse;
  readonly #options: WatcherOptions;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #unsubscribe: () => void;
  /** Whether initial events or a large frame are being written in blocks. */
  #inBlocks = false;
  /** Behind the last event that is written. */
  #position: number;
  /** Runs while the socket is full; undefined: the socket accepts writes. */
  #writeTimer: NodeJS.Timeout | undefined;
  /** Gives back the large block that is being written; has no effect twice. */
  #giveBack: (() => void) | undefined;
  /** Whether the watch ends when the blocks are written, so that no event is cut. */
  #isEnding = false;
  #ended = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
    this.#view = options.view;
    this.#log = options.view.log;
    this.#codec = options.view.codec;
    this.#response = options.response;
    this.#position = options.position;
    this.#unsubscribe = this.#log.subscribe(() => this.#pump());
  }

  /**
   * Sends the headers and the events so far. Then follows the log until the client or we end the watch.
   *
   * @param initial a state that is sent first, as ADDED events
   */
  start(initial?: ViewState): void {
    const { response, bookmarks, bookmarkMs, timeoutMs } = this.#options;
    writeWatchHead(response, this.#codec.encoding);
    response.flushHeaders();
    response.on('drain', () => this.#onDrain());
    response.on('close', () => {
      this.#giveBack?.();
      this.#stop();
    });
    response.on('error', () => this.#stop());
    this.#timers.push(setTimeout(() => this.end(), timeoutMs));
    if (bookmarks) this.#timers.push(setInterval(() => this.#bookmark(), bookmarkMs));
    if (initial === undefined) this.#pump();
    else this.#writeInitial(initial);
  }

  /** Ends the watch with a last bookmark and the end of the stream. */
  end(): void {
    if (this.#ended || this.#isEnding) return;
    if (this.#inBlocks) {
      this.#isEnding = true;
      this.#limitEnd();
      return;
    }
    if (this.#options.bookmarks) this.#bookmark();
    this.#response.end();
    this.#stop();
  }

  #onDrain(): void {
    clearTimeout(this.#writeTimer);
    this.#writeTimer = undefined;
    this.#giveBack?.();
    this.#pump();
  }

  #writeInitial(initial: ViewState): void {
    const bytes = initial.items.reduce(
      (sum, { length }) => sum + length + FRAME_BYTES,
      FRAME_BYTES,
    );
    this.#writeInBlocks(this.#initialFrames(initial), bytes, this.#position);
  }

  /** @param next position behind what is written */
  #writeInBlocks(buffers: Iterable<Buffer>, bytes: number, next: number): void {
    this.#inBlocks = true;
    const onWritten = (): void => {
      this.#inBlocks = false;
      this.#position = next;
      if (this.#isEnding) {
        this.#isEnding = false;
        this.end();
      } else this.#pump();
    };
    writeBlocks(this.#response, { ...this.#options, buffers, bytes, onWritten });
  }

  *#initialFrames({ items, version }: ViewState): Iterable<Buffer> {
    const { resource } = this.#view;
    const codec = this.#codec;
    for (const object of items) yield* codec.encodeEvent(resource, 'ADDED', object);
    if (this.#options.initialEventsEnd) {
      yield codec.encodeBookmark(resource, String(version), true);
    }
  }

  #pump(): void {
    const { closed } = this.#view;
    if (closed !== undefined) this.#fail(statusOf(closed));
    else if (this.#log.isEnding) this.end();
    // Also if it is written in blocks: the state would stay in memory, and the client could not continue after it.
    else if (this.#writeTimer === undefined && !this.#log.contains(this.#position)) this.#expire();
    while (!this.#ended && !this.#inBlocks && this.#writeTimer === undefined) {
      this.#giveBack = this.#options.largeBlocks?.take();
      const most = this.#giveBack === undefined ? WRITE_BLOCK_BYTES : LARGE_BLOCK_BYTES;
      const batch = this.#view.frames.from(this.#position, most);
      if (batch !== undefined) this.#writeBatch(batch);
      // Otherwise it is kept until the client has read it.
      if (this.#writeTimer === undefined) this.#giveBack?.();
      if (batch === undefined) return;
    }
  }

  #writeBatch({ buffers, bytes, next }: FrameBatch): void {
    const [first] = buffers;
    if (first?.length === bytes) {
      this.#position = next;
      this.#write(first);
    } else this.#writeInBlocks(buffers, bytes, next);
  }

  #write(bytes: Buffer): void {
    const response = this.#response;
    // Otherwise Node sends the chunk as a whole only at the end of this turn of the event loop.
    const { socket } = response;
    socket?.cork();
    const hasRoom = response.write(bytes);
    socket?.uncork();
    // `drain` comes in a later turn, also if the kernel has taken all, as it may over http: clients would get nothing
    // of a relabelling before all of it is decided. What is written to a lost connection has length 0, too.
    if (hasRoom || (response.writableLength === 0 && socket?.destroyed === false)) return;
    this.#writeTimer = startWriteTimeout(response, this.#options);
  }

  /** The next event has left the log: the client must list again. */
  #expire(): void {
    const message = 'kube-proxy-wrapper: too old resource version: the client was too slow';
    this.#fail({ code: 410, reason: 'Expired', message });
  }

  /**
   * Ends the watch with an ERROR event. What is written in blocks ends anywhere, perhaps within an object, whose rest
   * the client would take from the ERROR event: then only the end of the connection says so.
   */
  #fail(status: Status): void {
    if (this.#ended) return;
    if (!this.#inBlocks) this.#response.end(this.#codec.encodeErrorEvent(status));
    else this.#response.destroy();
    this.#stop();
  }

  #bookmark(): void {
    const upToDate = !this.#inBlocks && this.#position === this.#log.end;
    if (this.#ended || this.#writeTimer !== undefined || !upToDate) return;
    const version = String(this.#log.version);
    const frame = this.#codec.encodeBookmark(this.#view.resource, version, false);
    this.#write(frame);
  }

  #stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unsubscribe();
    for (const timer of this.#timers) clearTimeout(timer);
    clearTimeout(this.#writeTimer);
    this.#limitEnd();
  }

  #limitEnd(): void {
    if (this.#response.closed) return;
    const timer = startWriteTimeout(this.#response, { writeTimeoutMs: END_TIMEOUT_MS });
    this.#response.once('close', () => clearTimeout(timer));
  }
}

/** Writes the head of the response to a watch. */
export function writeWatchHead(response: ServerResponse, encoding: Encoding): void {
  response.writeHead(200, {
    'content-type': STREAM_MEDIA_TYPES[encoding],
    'cache-control': 'no-cache, private',
  });
}
