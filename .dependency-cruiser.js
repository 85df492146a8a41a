/**
 * Which room may import which; `npm run lint` checks it. A room may import itself, the rooms named after it, files
 * directly in src/, and packages. A new room needs a line here.
 */
const TOPOLOGY = ['topology/policy', 'topology/decide', 'topology/state'];
const FILTER = ['filter/objects', 'filter/codec', 'filter/view', 'filter/projection'];
const BELOW = ['util', 'text', ...TOPOLOGY, ...FILTER];
const API = [...BELOW, 'client/system', 'client/api'];
const UPSTREAM = [...API, 'client/upstream'];
const REFLECTOR = [...UPSTREAM, 'client/snapshot', 'client/reflector'];

const AROUND_VIEWS = ['client', 'node', 'server', 'diagnosis', 'relay', 'config', 'admin', 'run'];
const ADMIN = ['admin/explain', 'admin/status', 'admin/page', 'admin/metrics'];
const CLI = ['output', 'command-line', 'client', 'node', 'simulate', 'remote'].map(
  (room) => `cli/${room}`,
);

const ROOMS = [
  ['util'],
  ['text', 'util'],
  ...inOrder(TOPOLOGY, ['util', 'text']),
  // The encodings read objects by their schemas, and these read through a cursor of either encoding.
  ...inOrder(FILTER, ['util', 'text', ...TOPOLOGY, 'filter/codec']),
  ['client/system', ...BELOW],
  ['client/api', ...BELOW, 'client/system'],
  ['client/credentials', ...BELOW, 'client/system'],
  ['client/upstream', ...API, 'client/credentials'],
  ['client/snapshot', ...UPSTREAM, 'client/credentials'],
  ['client/reflector', ...REFLECTOR, 'client/credentials'],
  ['node/own-watches', ...REFLECTOR],
  ['node/local-runtime', ...BELOW, 'client/system'],
  ['node/views', ...REFLECTOR, 'node/own-watches', 'node/local-runtime'],
  ['node/relays', ...REFLECTOR, 'node/views'],
  ['server/http', ...API],
  ['server/forward', ...UPSTREAM, 'client/credentials', 'server/http'],
  ['server/auth', ...UPSTREAM, 'server/http', 'server/forward'],
  ['server/hot-restart', ...API, 'node/views'],
  ...inOrder(AROUND_VIEWS, BELOW),
  ...inOrder(ADMIN, [...BELOW, ...AROUND_VIEWS.slice(0, AROUND_VIEWS.indexOf('admin'))]),
  ...inOrder([...CLI, 'cli'], [...BELOW, ...AROUND_VIEWS]),
];

/** Each room may import those before it. */
function inOrder(rooms, below) {
  return rooms.map((room, index) => [room, ...below, ...rooms.slice(0, index)]);
}

/** Where a room is: what an operator runs is beside src. */
const folderOf = (room) => (/^cli(\/|$)/.test(room) ? room : `src/${room}`);

const AROUND = '(web|demo|fake-apiserver|scripts|harness|test|bench)/';
/** Programs that `node` runs, beside those that a suite starts. */
const RUN_BY_NODE = '^(bench|scripts|harness/(build|cluster/up))|^test/web/take-picture[.]ts$';
const CORE = { dependencyTypes: ['core'] };

/** Name, from, to, and what is right. */
const RULES = [
  [
    'programs',
    '^(src|cli)/',
    '^cli/(main|kubectl-kpw|kubectl-complete-kpw|listens)\\.ts$',
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
