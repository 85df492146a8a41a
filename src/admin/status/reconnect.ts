/**
 * A kube-proxy that is refused, or has lost its connection, tries again at the latest after this time (client-go), in
 * ms.
 */
export const RECONNECT_MS = 60_000;
