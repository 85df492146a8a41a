/** Node strips the types itself, so tests run the sources as they are, without a transform. */
const common = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {},
};

export default {
  coverageProvider: 'v8',
  projects: [
    {
      ...common,
      displayName: 'unit',
      roots: ['<rootDir>/test'],
      testMatch: ['**/*.test.ts'],
      testPathIgnorePatterns: ['<rootDir>/test/e2e/'],
    },
    {
      ...common,
      displayName: 'e2e',
      roots: ['<rootDir>/test/e2e'],
      testMatch: ['**/*.test.ts'],
      testTimeout: 120_000,
    },
  ],
};
