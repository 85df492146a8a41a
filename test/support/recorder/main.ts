/**
 * Lists and watches as several clients of one server, until it is killed. Writes what each client receives to its own
 * file, as lines of JSON (see written-record.ts). Uses HTTP and JSON only, and nothing of src.
 */
import { createWriteStream } from 'node:fs';
import { type FollowOptions, follow } from './follow.ts';
import { type RecordedObject, toRecord } from './written-object.ts';

/** One client, and where its records go. */
export interface RecorderConfig extends FollowOptions {
  readonly file: string;
}

const { signal } = new AbortController();
const configs = JSON.parse(process.argv[2] ?? '[]') as RecorderConfig[];
for (const config of configs) {
  const out = createWriteStream(config.file, { flags: 'a' });
  const receive = (record: Parameters<typeof toRecord>[0], process: string): void => {
    out.write(`${JSON.stringify({ ...toRecord(record), process })}\n`);
  };
  void follow<RecordedObject>(config, { receive }, signal);
}
