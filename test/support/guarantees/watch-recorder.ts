import { request } from 'undici';
import type { Codec, Encoding, ObjectBytes, RawEvent } from '../../../src/filter/codec/codec.ts';
import { JsonCodec } from '../../../src/filter/codec/json/json-codec.ts';
import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import { decodeStream } from '../codec/decode-stream.ts';

export const ACCEPT: Readonly<Record<Encoding, string>> = {
  json: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf, */*',
};

export const CODECS: Readonly<Record<Encoding, Codec>> = {
  json: new JsonCodec(),
  protobuf: new ProtobufCodec(),
};

/** A watch as a client receives it: every event so far, and how it ended. */
export interface WatchRecorder {
  readonly events: readonly RawEvent[];
  /** `TYPE name` of each event so far, bookmarks as `BOOKMARK` alone. */
  names(): string[];
  /** The objects that a client has now, by name. Throws for an ADDED of what it has, or a change of what it has not. */
  store(): Map<string, ObjectBytes>;
  /** Waits until this many events have arrived. Rejects after 30 s, naming those that have. */
  until(count: number): Promise<readonly RawEvent[]>;
  /** Settles when the stream ends; rejects when it breaks. */
  readonly ended: Promise<void>;
  close(): void;
}

/** Opens a watch; rejects when it is refused. */
export async function recordWatch(
  url: string,
  query: Record<string, string> = {},
  encoding: Encoding = 'protobuf',
): Promise<WatchRecorder> {
  const controller = new AbortController();
  const codec = CODECS[encoding];
  const parameters = new URLSearchParams({ watch: 'true', ...query });
  const { statusCode, body } = await request(`${url}?${parameters}`, {
    headers: { accept: ACCEPT[encoding] },
    signal: controller.signal,
  });
  if (statusCode !== 200) throw new Error(`watch refused: ${statusCode} ${await body.text()}`);
  const events: RawEvent[] = [];
  const waiting = new Set<() => void>();
  const follow = async (): Promise<void> => {
    await decodeStream(codec.watchDecoder(1 << 24), body, (decoded) => {
      events.push(...decoded);
      for (const wake of waiting) wake();
    });
  };
  const ended = follow();
  ended.catch(() => undefined);
  const names = (): string[] =>
    events.map((event) => {
      if (event.type === 'ERROR') return `ERROR ${event.status.code}`;
      return `${event.type} ${codec.meta(event.object).name}`.trim();
    });
  const store = (): Map<string, ObjectBytes> => {
    const objects = new Map<string, ObjectBytes>();
    for (const event of events) {
      if (event.type === 'ERROR' || event.type === 'BOOKMARK') continue;
      const { type, object } = event;
      const { name } = codec.meta(object);
      if (objects.has(name) === (type === 'ADDED')) throw new Error(`${type} ${name}`);
      if (type === 'DELETED') objects.delete(name);
      else objects.set(name, object);
    }
    return objects;
  };
  return {
    events,
    names,
    store,
    ended,
    close: () => controller.abort(),
    until: (count) =>
      new Promise((resolve, reject) => {
        const finish = (): void => {
          if (events.length < count) return;
          clearTimeout(timer);
          waiting.delete(finish);
          resolve(events);
        };
        const timer = setTimeout(() => {
          waiting.delete(finish);
          reject(new Error(`${events.length} of ${count} events arrived: ${names().join(', ')}`));
        }, 30_000);
        waiting.add(finish);
        finish();
      }),
  };
}
