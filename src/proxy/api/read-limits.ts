/** What is read of the API server at most. Beyond it the answer is refused, and what was known before stands. */
export interface ReadLimits {
  /** Bytes of one object, in a list or in a watch. */
  readonly maxObjectBytes: number;
  /** Bytes of the answer to a LIST, gunzipped; see also OwnReadMemory. */
  readonly maxListBytes: number;
  /** Objects of one question. */
  readonly maxObjects: number;
}

export const DEFAULT_READ_LIMITS: ReadLimits = {
  /** An object in etcd has at most 1.5 MiB by default; in JSON it can be several times that. */
  maxObjectBytes: 16 * 1024 * 1024,
  /**
   * 10,000 slices of 10 endpoints are 18.8 MB in protobuf, 50,000 are 94 MB. The memory limits of the manifests leave
   * room for that; see docs/operations.md.
   */
  maxListBytes: 128 * 1024 * 1024,
  maxObjects: 500_000,
};
