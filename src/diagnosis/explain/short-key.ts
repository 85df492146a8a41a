/** The last part of a label key, for narrow tables: `zone` for `topology.kubernetes.io/zone`. */
export function shortKey(key: string): string {
  return key.slice(key.lastIndexOf('/') + 1);
}
