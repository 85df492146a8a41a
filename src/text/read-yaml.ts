import { closeSync, openSync, readSync } from 'node:fs';
import { boolYaml11Tag, CORE_SCHEMA, loadAll, mergeTag, type Schema } from 'js-yaml';
import { WrapperError } from '../errors.ts';
import { messageOf } from '../util/message-of.ts';

/* The one reader of YAML and JSON that users give to a command: settings and manifests. */

/** Default limit of a file, in bytes: twice the manifests of 10,000 Services. */
const MAX_FILE_BYTES = 256 * 1024 * 1024;
/** Documents may always expand to this size. */
const MIN_EXPANDED = 1024 * 1024;
const READ_CHUNK_BYTES = 1024 * 1024;
/** Time between two attempts to read, in milliseconds. */
const RETRY_MS = 20;

/**
 * Calls `read`. Its errors become `InvalidSettings`, with the name of what is read. Only their first line is kept: the
 * others quote the source, which may contain a token.
 */
export function reading<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const [line = ''] = messageOf(cause).split('\n', 1);
    // An offset is in JSON that this program wrote, not in the file.
    const reason = line.replace(/ at offset \d+$/, '');
    throw new WrapperError('InvalidSettings', `cannot read ${name}: ${reason}`, { cause });
  }
}

/** Reads a file, or standard input (0). Throws if it cannot be read, or is longer than `maxBytes`. */
export function readBounded(file: string | number, maxBytes: number = MAX_FILE_BYTES): string {
  const fd = typeof file === 'number' ? file : openSync(file, 'r');
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const chunk = Buffer.allocUnsafe(READ_CHUNK_BYTES);
      const read = readNow(fd, chunk);
      if (read === 0) return textOf(Buffer.concat(chunks, bytes));
      bytes += read;
      if (bytes > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`);
      chunks.push(chunk.subarray(0, read));
    }
  } finally {
    if (fd !== file) closeSync(fd);
  }
}

function textOf(bytes: Buffer): string {
  const mark = bytes.toString('latin1', 0, 2);
  if (mark === '\xff\xfe' || mark === '\xfe\xff') {
    throw new Error('it is in UTF-16; save it as UTF-8');
  }
  return bytes.toString('utf8');
}

/** A standard input that does not block answers EAGAIN until its writer has written. */
function readNow(fd: number, chunk: Buffer): number {
  for (;;) {
    try {
      return readSync(fd, chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

/** YAML 1.2 with merge keys (`<<`), of which js-yaml takes 10,000 at most. */
const YAML_SCHEMA = CORE_SCHEMA.withTags(mergeTag);
/** The YAML that kubectl reads: also with the booleans of YAML 1.1, such as `yes`, `off` and `n`. */
export const KUBECTL_SCHEMA = YAML_SCHEMA.withTags(boolYaml11Tag);

/**
 * The documents of a text that kubectl reads too: YAML, or JSON objects without a separator, as two calls of `kubectl
 * get -o json` print (YAMLOrJSONDecoder of k8s.io/apimachinery). Throws as {@link parseYaml}.
 */
export function parseManifests(text: string): unknown[] {
  const parts = /^\s*\{/.test(text) ? jsonTexts(text) : [];
  try {
    if (parts.length > 1) return parts.map((json) => JSON.parse(json));
  } catch {
    // As there, it may be YAML.
  }
  return parseYaml(text, KUBECTL_SCHEMA);
}

/** Cuts a text behind each object or array; the last part has the rest, if there is one. */
function jsonTexts(text: string): string[] {
  const parts: string[] = [];
  let [start, depth, isInText] = [0, 0, false];
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (isInText && char === '\\') at++;
    else if (char === '"') isInText = !isInText;
    else if (isInText) continue;
    else if (char === '{' || char === '[') depth++;
    else if ((char === '}' || char === ']') && --depth === 0) {
      parts.push(text.slice(start, at + 1));
      start = at + 1;
    }
  }
  const rest = text.slice(start).trim();
  return rest === '' ? parts : [...parts, rest];
}

/**
 * The documents of a YAML text, without empty ones. Throws for invalid YAML, and for aliases that refer to themselves
 * or expand to many times the size of the text ("billion laughs"): js-yaml shares the values of aliases, but whatever
 * walks over them, such as JSON.stringify, does not.
 */
export function parseYaml(text: string, schema: Schema = YAML_SCHEMA): unknown[] {
  const documents = loadAll(text, { schema }).filter((document) => document !== null);
  const sizes = new Map<object, number>();
  const size = documents.reduce<number>((sum, each) => sum + expandedSize(each, sizes), 0);
  if (size <= Math.max(2 * text.length, MIN_EXPANDED)) return documents;
  throw new Error(
    'its aliases (*name) expand to many times its size; write the values without them',
  );
}

/** Number of values, plus the length of texts. An object that occurs several times is walked over once. */
function expandedSize(value: unknown, sizes: Map<object, number>): number {
  if (typeof value === 'string') return 1 + value.length;
  if (typeof value !== 'object' || value === null) return 1;
  const known = sizes.get(value);
  if (Number.isNaN(known)) throw new Error('one of its aliases (*name) contains itself');
  if (known !== undefined) return known;
  sizes.set(value, Number.NaN);
  let size = 1;
  for (const [key, item] of Object.entries(value)) {
    size += (Array.isArray(value) ? 0 : key.length) + expandedSize(item, sizes);
  }
  sizes.set(value, size);
  return size;
}
