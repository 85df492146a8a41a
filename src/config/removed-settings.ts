import { WrapperError } from '../errors.ts';

const FIXED = 'its default is now fixed; delete the key';

/** Settings of earlier versions that are gone, and what to do instead. The message of an unknown key uses it. */
const REMOVED: Readonly<Record<string, string>> = {
  maxEventBytes: 'plain http is read-only, so Events of kube-proxy get 403; delete the key',
  policyEvents:
    'the wrapper writes no Events; the admission policy of the manifests rejects mistakes at write time, and `status` lists them',
  'https.selfSigned':
    'set certFile and keyFile; docs/identity.md has the openssl command that makes them',
  'https.allowedSeconds': FIXED,
  'https.deniedSeconds': FIXED,
  'https.maxCallers': FIXED,
  'https.maxReviews': FIXED,
  readyWaitSeconds: FIXED,
  stalledClientSeconds: FIXED,
  maxObjectBytes: FIXED,
  maxObjects: FIXED,
  stateWriteBytesPerSecond: FIXED,
  stateGraceSeconds: FIXED,
  maxHeaderBytes: FIXED,
  headersTimeoutSeconds: FIXED,
  requestTimeoutSeconds: FIXED,
  returnDelaySeconds: 'set successThreshold of the readiness probe, and minReady; delete the key',
  'https.clientCaFile':
    'callers over https need a token; give kube-proxy one, or plain http, and delete the key (docs/identity.md)',
  windowEntries: FIXED,
  windowBytes: FIXED,
  bookmarkSeconds: FIXED,
  idleViewSeconds: FIXED,
};

/** The problem with a key that an earlier version had, or undefined. */
export function removedSetting(key: string): string | undefined {
  return Object.hasOwn(REMOVED, key) ? `${key} was removed: ${REMOVED[key]}` : undefined;
}

/**
 * Throws `InvalidSettings` if systemd has passed listening sockets to this process (sd_listen_fds(3)). They keep the
 * port, so that nothing else can listen there.
 */
export function assertNoInheritedSockets(env: NodeJS.ProcessEnv, pid: number): void {
  if (env.LISTEN_PID !== String(pid)) return;
  throw new WrapperError(
    'InvalidSettings',
    'systemd passes sockets to this service, which were removed in 1.2.0: the wrapper opens its ports itself; ' +
      'systemctl disable --now kube-proxy-wrapper.socket, and restart the service',
  );
}
