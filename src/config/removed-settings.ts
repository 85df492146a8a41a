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
  returnDelaySeconds: 'set successThreshold of the readiness probe, and minReady',
  readyWaitSeconds: FIXED,
  stalledClientSeconds: FIXED,
  maxObjectBytes: FIXED,
  maxObjects: FIXED,
  stateWriteBytesPerSecond: FIXED,
  stateGraceSeconds: FIXED,
  maxHeaderBytes: FIXED,
  headersTimeoutSeconds: FIXED,
  requestTimeoutSeconds: FIXED,
};

/** The problem with a key that an earlier version had, or undefined. */
export function removedSetting(key: string): string | undefined {
  if (!Object.hasOwn(REMOVED, key)) return undefined;
  return `${key} was removed: ${REMOVED[key]}`;
}
