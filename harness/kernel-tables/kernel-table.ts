/**
 * Backends in the kernel (`ip:port`, IPv6 in brackets; sorted) by target (`TCP ip:port`). A target without backends
 * refuses connections.
 */
export type KernelTable = ReadonlyMap<string, readonly string[]>;
