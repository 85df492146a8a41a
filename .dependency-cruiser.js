/**
 * Which room may import which; `npm run lint` checks it. A room may import itself, the rooms named after it, files
 * directly in src/, and packages. A new room needs a line here.
 */
const TOPOLOGY = ['topology/policy', 'topology/decide', 'topology/state', 'topology/explain'];
const FILTER = ['filter/codec', 'filter/view', 'filter/projection'];
const UTIL = ['util', ...TOPOLOGY, ...FILTER, 'proxy/system'];
const API = [...UTIL, 'proxy/api'];
const UPSTREAM = [...API, 'proxy/upstream'];
const REFLECTOR = [...UPSTREAM, 'proxy/snapshot', 'proxy/reflector'];

const BELOW = ['util', ...TOPOLOGY, ...FILTER];
const ADMIN = ['admin/health', 'admin/explain', 'admin/status', 'admin/page', 'admin/metrics'];
const CLI = ['output', 'command-line', 'client', 'node', 'simulate', 'remote'].map(
  (room) => `cli/${room}`,
);

const ROOMS = [
  ['util'],
  ...inOrder(TOPOLOGY, ['util']),
  ...inOrder(FILTER, ['util', ...TOPOLOGY]),
  ['proxy/system', ...UTIL],
  ['proxy/api', ...UTIL],
  ['proxy/credentials', ...UTIL],
  ['proxy/upstream', ...API, 'proxy/credentials'],
  ['proxy/snapshot', ...UPSTREAM, 'proxy/credentials'],
  ['proxy/reflector', ...REFLECTOR, 'proxy/credentials'],
  ['proxy/own-watches', ...REFLECTOR],
  ['proxy/local-runtime', ...UTIL],
  ['proxy/views', ...REFLECTOR, 'proxy/own-watches', 'proxy/local-runtime'],
  ['proxy/http', ...API],
  ['proxy/passthrough', ...UPSTREAM, 'proxy/credentials', 'proxy/http'],
  ['proxy/auth', ...UPSTREAM, 'proxy/http', 'proxy/passthrough'],
  ['proxy/hot-restart', ...API, 'proxy/views'],
  ...inOrder(['proxy', 'relay', 'config', 'admin', 'run'], BELOW),
  ...inOrder(ADMIN, [...BELOW, 'proxy', 'config']),
  ...inOrder([...CLI, 'cli'], [...BELOW, 'proxy', 'relay', 'config', 'admin', 'run']),
];

/** Each room may import those before it. */
function inOrder(rooms, below) {
  return rooms.map((room, index) => [room, ...below, ...rooms.slice(0, index)]);
}

/** Where a room is: what an operator runs is beside src. */
const folderOf = (room) => (room.startsWith('cli') ? room : `src/${room}`);

const AROUND = '(web|demo|fake-apiserver|scripts|harness|test|bench)/';
/** Programs that `node` runs, beside those that a suite starts. */
const RUN_BY_NODE = '^(bench|scripts|harness/(build|cluster/up))|^test/web/take-picture[.]ts$';
const CORE = { dependencyTypes: ['core'] };

/** Name, from, to, and what is right. */
const RULES = [
  [
    'programs',
    '^(src|cli)/',
    '^cli/(main|kubectl-kpw|kubectl-complete-kpw)\\.ts$',
    'nothing imports a program',
  ],
  ['src', '^src/', `^(cli/|${AROUND})`, 'the product knows nothing of what is around it'],
  ['cli', '^cli/', `^${AROUND}`, 'the product knows nothing of what is around it'],
  [
    'fake-apiserver',
    '^fake-apiserver/',
    `^(src/|cli/|(?!fake-apiserver)${AROUND})`,
    'it shares no code with src',
  ],
  ['demo', '^demo/', '^(scripts|harness|test|bench)/', 'the demo is a part of the package'],
  ['harness', '^harness/', '^(scripts|test|bench)/', 'tests and benchmarks are made with it'],
  ['web', '^web/', `^(cli/|(?!web)${AROUND})`, 'the page is a part of the wrapper'],
  ['browser', '^(demo/)?web/', CORE, 'the page runs in a browser'],
  ['topology', '^src/topology/', CORE, 'src/topology is pure'],
  ['zlib', '^src/filter/(codec|projection)/', '^zlib$', 'only views need its checksum'],
  ['filter', '^src/filter/', { ...CORE, pathNot: '^(buffer|zlib)$' }, 'src/filter does no I/O'],
  ['jest', RUN_BY_NODE, { path: '@jest/globals', reachable: true }, 'jest is not there'],
  ['circle', '', { circular: true }, 'imports go one way'],
  ...ROOMS.map(([room, ...others]) => [
    room,
    `^${folderOf(room)}/`,
    { path: '^(src|cli)/.+/', pathNot: `^(${[room, ...others].map(folderOf).join('|')})/` },
    `it may import ${others.join(', ') || 'no other room'}`,
  ]),
];

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: RULES.map(([name, from, to, comment]) => ({
    name,
    severity: 'error',
    comment,
    from: from === '' ? {} : { path: from },
    to: typeof to === 'string' ? { path: to } : to,
  })),
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node'],
    },
  },
};
