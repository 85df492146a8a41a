// Loaded into the wrapper's process before it (`--import`): sets how much of the past each view keeps; null: the
// default.
globalThis.kpwTestViewBounds = JSON.parse(process.env.KPW_TEST_VIEW_BOUNDS ?? 'null') ?? undefined;

export {};
