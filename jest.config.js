/** Node strips the types itself, so tests run the sources as they are, without a transform. */
const common = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
};

/**
 * Only KubeConfig of @kubernetes/client-node, without the classes of all API objects. To load these takes 0.7 s in each
 * test file; the bundle leaves them out too.
 */
const kubeConfigOnly = {
  moduleNameMapper: {
    '^@kubernetes/client-node$': '<rootDir>/node_modules/@kubernetes/client-node/dist/config.js',
    '^[.]/gen/index[.]js$': '<rootDir>/test/support/kubeconfig/client-node-gen.js',
  },
};

/**
 * Tests that start the program, wait in real time or measure memory. `npm test slow` runs them one file at a time,
 * so that `npm test` takes less than a minute.
 */
const SLOW = [
  '/test/hot-restart/.*[.]test[.]ts$',
  '/test/filter/projection/tenant-memory[.]test[.]ts$',
  '/test/demo/demo[.]test[.]ts$',
  '/test/(cli/(main|exec-plugin)|run/(force-exit|inspector|trim-heap))[.]test[.]ts$',
  '/test/server/serving/slow-clients[.]test[.]ts$',
  '/test/client/snapshot/snapshot-folder[.]test[.]ts$',
  '/test/node/views/view-memory[.]test[.]ts$',
  '/test/security/connections[.]test[.]ts$',
];

/** Tests of a whole wrapper in one process, most of them with the API server in memory (test/layers.test.ts). */
const INTEGRATION = '[.]integration[.]test[.]ts$';

/** Folders of the project `real` below. */
const REAL = ['<rootDir>/test/real', '<rootDir>/test/web', '<rootDir>/test/fuzz'];

export default {
  coverageProvider: 'v8',
  // Real components and slow machines take their time; jest knows this option at the top level only.
  testTimeout: 120_000,
  // By default jest leaves one core free, which is half of two. Suites with real components run one file at a time.
  maxWorkers: '100%',
  projects: [
    {
      ...common,
      ...kubeConfigOnly,
      displayName: 'unit',
      roots: ['<rootDir>/test'],
      testPathIgnorePatterns: [...REAL, ...SLOW, INTEGRATION],
    },
    {
      ...common,
      ...kubeConfigOnly,
      displayName: 'integration',
      roots: ['<rootDir>/test'],
      testRegex: INTEGRATION,
    },
    {
      ...common,
      ...kubeConfigOnly,
      displayName: 'slow',
      roots: ['<rootDir>/test'],
      testRegex: SLOW,
    },
    // Real components, a browser, or endless input. scripts/test.ts narrows it to a folder.
    { ...common, displayName: 'real', roots: REAL },
  ],
};
