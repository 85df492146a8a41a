import type { ServerResponse } from 'node:http';
import type { Status } from '../../errors.ts';
import type { EventLog } from '../../filter/view/event-log.ts';
import type { Snapshot, View } from '../../filter/view/view.ts';
import { STREAM_MEDIA_TYPES } from '../api/media-type.ts';
import { statusOf } from '../api/status.ts';
import { giveUpLater, type WriteTimeout } from '../http/write-timeout.ts';
import { InitialFrames } from './initial-frames.ts';

export interface WatcherOptions extends WriteTimeout {
  readonly view: View;
  readonly response: ServerResponse;
  /** Where in the log to begin. */
  readonly position: number;
  /** A state to send as ADDED events first. */
  readonly initial?: Snapshot;
  /** Whether a bookmark that marks the end of the initial events follows these. */
  readonly initialEventsEnd: boolean;
  readonly bookmarks: boolean;
  /** Time between bookmarks, in milliseconds. */
  readonly bookmarkMs: number;
  /** The server ends the watch after this long, in milliseconds. */
  readonly timeoutMs: number;
}

/** How long a client may take to read the end of its stream, in milliseconds. */
const LAST_WORDS_MS = 10_000;

/**
 * One watch of one client: a position in the log, and the http response that follows it.
 *
 * It holds no events: what the client has not taken yet waits in the log, and when it has fallen out of the
 * window the client is told to list anew (ERROR 410). A bookmark is sent only when all before it is written,
 * so that nothing older comes after it. A client that takes nothing for a while is given up: its socket holds
 * a batch, and a client that has not got all of the initial state yet holds that whole state.
 */
export class Watcher {
  readonly #view: View;
  readonly #log: EventLog;
  readonly #response: ServerResponse;
  /** Without the initial state: a watch lasts for minutes, and would keep all of it. */
  readonly #options: Omit<WatcherOptions, 'initial'>;
  readonly #initialVersion: bigint | undefined;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #unsubscribe: () => void;
  /** Initial objects not written yet. */
  #initial: InitialFrames | undefined;
  #initialDone: boolean;
  #position: number;
  /** Runs while the socket takes no more; see stallMs. */
  #stall: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(options: WatcherOptions) {
    const { initial, ...rest } = options;
    this.#options = rest;
    this.#initialVersion = initial?.version;
    this.#view = options.view;
    this.#log = options.view.log;
    this.#response = options.response;
    this.#position = options.position;
    if (initial !== undefined) this.#initial = new InitialFrames(this.#view, initial.items);
    this.#initialDone = initial === undefined;
    this.#unsubscribe = this.#log.subscribe(() => this.#pump());
  }

  /** Sends the headers and whatever there is; then follows the log until one of the two sides ends it. */
  start(): void {
    const { response, bookmarks, bookmarkMs, timeoutMs } = this.#options;
    response.writeHead(200, {
      'content-type': STREAM_MEDIA_TYPES[this.#view.codec.encoding],
      'cache-control': 'no-cache, private',
    });
    response.flushHeaders();
    response.on('drain', () => this.#drained());
    response.on('close', () => this.#stop());
    response.on('error', () => this.#stop());
    this.#timers.push(setTimeout(() => this.end(), timeoutMs));
    if (bookmarks) this.#timers.push(setInterval(() => this.#bookmark(), bookmarkMs));
    this.#pump();
  }

  /** Ends the watch in good order: a last bookmark, then the end of the stream. */
  end(): void {
    if (this.#ended) return;
    if (this.#options.bookmarks) this.#bookmark();
    this.#response.end();
    this.#stop();
  }

  #drained(): void {
    clearTimeout(this.#stall);
    this.#stall = undefined;
    this.#pump();
  }

  #pump(): void {
    const { closed } = this.#view;
    if (closed !== undefined) this.#fail(statusOf(closed));
    while (!this.#ended && this.#stall === undefined) {
      const frames = this.#initialDone ? this.#nextFrames() : this.#nextInitialFrames();
      if (frames.length === 0) return;
      this.#write(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames));
    }
  }

  #write(bytes: Buffer): void {
    const response = this.#response;
    // Else the chunk waits for the end of this turn of the event loop before it goes out whole.
    const { socket } = response;
    socket?.cork();
    const taken = response.write(bytes);
    socket?.uncork();
    if (taken) return;
    this.#stall = giveUpLater(response, this.#options);
  }

  #nextInitialFrames(): Buffer[] {
    const { codec, resource } = this.#view;
    const frames: Buffer[] = [];
    if (this.#initial !== undefined && !this.#initial.done) frames.push(this.#initial.next());
    if (this.#initial?.done === false) return frames;
    const version = String(this.#initialVersion);
    if (this.#options.initialEventsEnd) frames.push(codec.encodeBookmark(resource, version, true));
    this.#initial = undefined;
    this.#initialDone = true;
    return frames.length > 0 ? frames : this.#nextFrames();
  }

  #nextFrames(): Buffer[] {
    if (!this.#log.holds(this.#position)) {
      this.#expire();
      return [];
    }
    const batch = this.#view.frames.from(this.#position);
    if (batch === undefined) return [];
    this.#position = batch.next;
    return [batch.bytes];
  }

  /** What comes next has left the window: the client has to list anew. */
  #expire(): void {
    const message = 'kube-proxy-wrapper: too old resource version: the client was too slow';
    this.#fail({ code: 410, reason: 'Expired', message });
  }

  /** Ends the watch with an ERROR event. */
  #fail(status: Status): void {
    if (this.#ended) return;
    this.#response.end(this.#view.codec.encodeErrorEvent(status));
    this.#stop();
  }

  #bookmark(): void {
    const upToDate = this.#initialDone && this.#position === this.#log.end;
    if (this.#ended || this.#stall !== undefined || !upToDate) return;
    const version = String(this.#log.version);
    const frame = this.#view.codec.encodeBookmark(this.#view.resource, version, false);
    this.#write(frame);
  }

  #stop(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#unsubscribe();
    for (const timer of this.#timers) clearTimeout(timer);
    clearTimeout(this.#stall);
    this.#initial = undefined;
    if (this.#response.closed) return;
    // A client that does not even read the end is not waited for.
    const giveUp = setTimeout(() => this.#response.destroy(), LAST_WORDS_MS);
    this.#response.once('close', () => clearTimeout(giveUp));
  }
}
