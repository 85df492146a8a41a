import { setFlagsFromString } from 'node:v8';

/*
 * This process shares a node with the workload, so its memory counts. It allocates little once it has synced.
 * By default V8 lets 128 MB of garbage accumulate on a machine with 24 GB first. The flags are set here and
 * not on a command line, so that they do not depend on how main.js is started. V8 reads them each time it resizes
 * its heap. Must be the import of main.ts after node-version.ts. Figures: bench/NOTES.md.
 */

/** Keeps the space for young objects at its initial size, twice 1 MB. */
setFlagsFromString('--semi-space-growth-factor=1');
/** Starts a full collection when the heap has grown by 40 %, not when it has grown fourfold. */
setFlagsFromString('--heap-growing-percent=40');
