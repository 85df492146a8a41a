/** The query of a streaming list, as client-go ≥ 1.35 sends it. */
export const STREAMING_LIST = {
  allowWatchBookmarks: 'true',
  resourceVersionMatch: 'NotOlderThan',
  sendInitialEvents: 'true',
};
