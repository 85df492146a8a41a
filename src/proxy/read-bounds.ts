/** What is read of the API server at most. Beyond it the answer is refused, and what was known before stands. */
export interface ReadBounds {
  /** Bytes of one object, in a list or in a watch. */
  readonly maxObjectBytes: number;
  /** Bytes of the answer to a LIST, gunzipped. */
  readonly maxListBytes: number;
  /** Objects of one question. */
  readonly maxObjects: number;
}

export const DEFAULT_READ_BOUNDS: ReadBounds = {
  /** An object in etcd has at most 1.5 MiB by default; in JSON it can be several times that. */
  maxObjectBytes: 16 * 1024 * 1024,
  /** 50,000 Services of 100 endpoints are 120 MB in protobuf, and 600 MB in JSON. */
  maxListBytes: 512 * 1024 * 1024,
  maxObjects: 500_000,
};
