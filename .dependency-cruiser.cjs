/** The import directions of docs/architecture.md, "Rooms and who may know whom". */
module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'topology-is-pure',
      comment: 'src/topology knows nothing of src but errors, and does no I/O',
      severity: 'error',
      from: { path: '^src/topology/' },
      to: { pathNot: '^src/(topology/|errors[.]ts$)' },
    },
    {
      name: 'filter-knows-topology',
      severity: 'error',
      from: { path: '^src/filter/' },
      to: { path: '^src/', pathNot: '^src/(filter/|topology/|errors[.]ts$)' },
    },
    {
      name: 'filter-does-no-io',
      comment: 'bytes in, bytes out',
      severity: 'error',
      from: { path: '^src/filter/' },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?buffer$' },
    },
    {
      name: 'proxy-knows-filter-and-topology',
      severity: 'error',
      from: { path: '^src/proxy/' },
      to: { path: '^src/', pathNot: '^src/(proxy/|filter/|topology/|errors[.]ts$)' },
    },
    {
      name: 'errors-know-nobody',
      severity: 'error',
      from: { path: '^src/errors[.]ts$' },
      to: { path: '^(src|embedded|demo)/' },
    },
    {
      name: 'product-knows-no-demo',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(embedded|demo|test|bench)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'] },
  },
};
