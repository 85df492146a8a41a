/**
 * Lists and watches as several clients of one server, until it is killed. Writes what each client receives to its own
 * file, as lines of JSON (see written-record.ts). Uses HTTP and JSON only, and nothing of src.
 */
import { createWriteStream } from 'node:fs';
import { follow, type RecorderOptions } from './follow.ts';

/** One client, and where its records go. */
export interface RecorderConfig extends RecorderOptions {
  readonly file: string;
}

const configs = JSON.parse(process.argv[2] ?? '[]') as RecorderConfig[];
for (const config of configs) {
  const out = createWriteStream(config.file, { flags: 'a' });
  void follow(config, (record) => {
    out.write(`${JSON.stringify({ at: Date.now(), ...record })}\n`);
  });
}
