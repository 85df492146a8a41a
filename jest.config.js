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
 * Tests that start the program, wait in real time or measure memory. `npm run test:slow` runs them one file at a time,
 * so that `npm test` takes less than a minute.
 */
const SLOW = [
  '/test/hot-restart/.*[.]test[.]ts$',
  '/test/filter/projection/tenant-memory[.]test[.]ts$',
  '/test/guarantees/planted-bugs[.]test[.]ts$',
  '/test/demo/demo[.]test[.]ts$',
  '/test/(cli/main|run/(force-exit|inspector|trim-heap))[.]test[.]ts$',
  '/test/proxy/serving/slow-clients[.]test[.]ts$',
  '/test/proxy/snapshot/(snapshot-history[.]property|snapshot-folder)[.]test[.]ts$',
  '/test/proxy/views/view-memory[.]test[.]ts$',
  '/test/security/connections[.]test[.]ts$',
];

/** Tests of a whole wrapper in one process, most of them with the API server in memory (test/layers.test.ts). */
const INTEGRATION = '[.]integration[.]test[.]ts$';

/** Folders that have a project of their own below. */
const OWN_SUITES = [
  '<rootDir>/test/e2e/',
  '<rootDir>/test/fuzz/',
  '<rootDir>/test/deploy/',
  '<rootDir>/test/cluster/',
  '<rootDir>/test/web/',
  '<rootDir>/test/security/hostile/',
  '<rootDir>/test/versions/',
];

/** Suites of the whole cluster that CI does not run. */
const CLUSTER_RELEASE = ['<rootDir>/test/cluster/release/'];

export default {
  coverageProvider: 'v8',
  // Real components take their time; jest knows this option at the top level only.
  testTimeout: 60_000,
  // By default jest leaves one core free, which is half of two. Suites with real components run one file at a time.
  maxWorkers: '100%',
  projects: [
    {
      ...common,
      ...kubeConfigOnly,
      displayName: 'unit',
      roots: ['<rootDir>/test'],
      testPathIgnorePatterns: [...OWN_SUITES, ...SLOW, INTEGRATION],
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
    { ...common, displayName: 'fuzz', roots: ['<rootDir>/test/fuzz'] },
    { ...common, displayName: 'web', roots: ['<rootDir>/test/web'] },
    // All that needs real components, in namespaces. An npm script narrows it to a folder with --roots.
    {
      ...common,
      displayName: 'e2e',
      roots: ['<rootDir>/test/e2e', '<rootDir>/test/security/hostile', '<rootDir>/test/versions'],
    },
    {
      ...common,
      displayName: 'cluster',
      roots: ['<rootDir>/test/cluster'],
      // The others take minutes: before a release KPW_CLUSTER=all runs them too.
      ...(process.env.KPW_CLUSTER === 'all' ? {} : { testPathIgnorePatterns: CLUSTER_RELEASE }),
    },
    { ...common, displayName: 'deploy', roots: ['<rootDir>/test/deploy'] },
  ],
};
