/** Limits for what is read from the API server. A larger response is refused, and the last good state remains. */
export interface ReadLimits {
  /** Size of one object in a list or a watch, in bytes. */
  readonly maxObjectBytes: number;
  /** Size of the response to a LIST after decompression, in bytes; see also OwnReadMemory. */
  readonly maxListBytes: number;
  /** Number of objects of one query. */
  readonly maxObjects: number;
}

export const DEFAULT_READ_LIMITS: ReadLimits = {
  /** By default an object in etcd has at most 1.5 MiB. In JSON it can be several times larger. */
  maxObjectBytes: 16 * 1024 * 1024,
  /**
   * 10,000 slices of 10 endpoints are 18.8 MB in protobuf, 50,000 are 94 MB. The memory limits in the manifests allow
   * for lists of this size; see "Memory" in docs/operations-clients.md.
   */
  maxListBytes: 128 * 1024 * 1024,
  maxObjects: 500_000,
};
