import { setFlagsFromString } from 'node:v8';

/*
 * This process shares a node with the workload: memory counts, and it allocates little once it has synced.
 * By default V8 lets 128 MB of garbage pile up on a machine with 24 GB before it looks. Set here and not on a
 * command line, so that whoever starts main.js has them; V8 reads both each time it resizes its heap. Must be
 * the first import of main.ts but for node-version. Figures: bench/NOTES.md.
 */

/** The space for young objects stays at the 1 MB (twice) that it starts with. */
setFlagsFromString('--semi-space-growth-factor=1');
/** The next full collection comes when the heap has grown by two fifths, not when it has grown fourfold. */
setFlagsFromString('--heap-growing-percent=40');
