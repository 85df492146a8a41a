// Loaded into the wrapper's process before it (`--import`): its clock of dates is ahead by what is in a file, in
// milliseconds, and jumps when the file changes. performance.now() and timers remain those of the machine.
import { readFileSync, watch } from 'node:fs';

const file = process.env.KPW_TEST_CLOCK_FILE ?? '';
const read = (): number => Number(readFileSync(file, 'utf8')) || 0;
const RealDate = Date;
let ahead = read();
watch(file, { persistent: false }, () => {
  ahead = read();
});

const now = (): number => RealDate.now() + ahead;

globalThis.Date = new Proxy(RealDate, {
  construct: (real, args: unknown[], target) =>
    Reflect.construct(real, args.length === 0 ? [now()] : args, target),
  apply: (real) => new real(now()).toString(),
  get: (real, name) => (name === 'now' ? now : Reflect.get(real, name)),
});
