import { readFileSync } from 'node:fs';

/** Differs after each boot of the machine, also in a container; empty if the kernel does not tell. */
export function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}
