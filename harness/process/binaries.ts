import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { runCommand } from './run-command.ts';

/**
 * The release of Kubernetes that all suites run; `versions` also runs others. A new one needs its modules in
 * components/: `kubernetes-<minor>`, `kubernetes-<minor>-node` and the version in `informer`.
 */
export const KUBERNETES = '1.37.2';

/** Paths of the programs that the harness runs. */
export interface Binaries {
  readonly etcd: string;
  readonly kubeApiserver: string;
  readonly kubeControllerManager: string;
  readonly kubectl: string;
  readonly kubeProxy: string;
  readonly informer: string;
}

/** One program, built from a Go module of ours. */
export interface Component {
  readonly name: string;
  readonly version: string;
  /** The module's folder, relative to harness. */
  readonly module: string;
  /** What to build. */
  readonly target: string;
  readonly flags: readonly string[];
  readonly ldflags: string;
}

const harness = resolve(import.meta.dirname, '..');

/**
 * Builds what is missing or out of date and returns all paths. The programs are kept in
 * `$KPW_CACHE/bin`, by default `.cache/bin` of the repository. The first call takes minutes (it
 * compiles Kubernetes); later ones read a few small files. Two processes may call it at a time.
 *
 * @param report gets a line for each program that is being built.
 */
export async function ensureBinaries(report: (line: string) => void = () => {}): Promise<Binaries> {
  const path = async (component: Component) => await ensureBinary(component, report);
  return {
    etcd: await path(etcd),
    kubeApiserver: await path(kubernetes('kube-apiserver')),
    kubeControllerManager: await path(kubernetes('kube-controller-manager')),
    kubectl: await path(kubernetes('kubectl')),
    kubeProxy: await path(kubernetes('kube-proxy')),
    informer: await path(informer),
  };
}

const etcd: Component = {
  name: 'etcd',
  version: '3.7.3',
  module: 'components/etcd',
  target: 'go.etcd.io/etcd/server/v3',
  flags: [],
  ldflags: '-s -w',
};

/** Informers of client-go. */
export const informer: Component = {
  name: 'informer',
  version: KUBERNETES.replace('1.', '0.'),
  module: 'components/informer',
  target: '.',
  flags: [],
  ldflags: '-s -w',
};

/** A component of Kubernetes itself. */
export function kubernetes(name: string, version = KUBERNETES): Component {
  const [major, minor] = version.split('.');
  const stamp = 'k8s.io/component-base/version';
  return {
    name,
    version,
    module: `components/kubernetes-${major}.${minor}`,
    target: `k8s.io/kubernetes/cmd/${name}`,
    flags: [],
    // Without these a component takes itself for v0.0.0 and refuses its own feature gates.
    ldflags: `-s -w -X ${stamp}.gitVersion=v${version} -X ${stamp}.gitMajor=${major} -X ${stamp}.gitMinor=${minor}`,
  };
}

/** Builds one program if it is missing or out of date, and returns its path; see {@link ensureBinaries}. */
export async function ensureBinary(
  component: Component,
  report: (line: string) => void = () => {},
): Promise<string> {
  const folder = resolve(process.env.KPW_CACHE ?? join(harness, '../.cache'), 'bin');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${component.name}-${component.version}`);
  const stampFile = `${path}.stamp`;
  const stamp = stampOf(component);
  const isCurrent =
    existsSync(path) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp;
  if (isCurrent) return path;
  report(`building ${component.name} ${component.version}`);
  // Built aside and renamed, so that nobody ever runs half a program.
  const aside = `${path}.${process.pid}.tmp`;
  // Debug information is not kept (-s -w); not to make it spares a tenth of the time.
  const args = ['build', '-trimpath', '-buildvcs=false', '-gcflags=all=-dwarf=false'];
  args.push(...component.flags);
  args.push('-ldflags', component.ldflags, '-o', aside, component.target);
  await runCommand('nice', ['go', ...args], {
    cwd: join(harness, component.module),
    env: { CGO_ENABLED: '0', GOFLAGS: '', GOWORK: 'off' },
  });
  renameSync(aside, path);
  writeFileSync(stampFile, stamp);
  return path;
}

/** Changes when the program would: its module's files and its flags. */
function stampOf(component: Component): string {
  const hash = createHash('sha256').update(JSON.stringify(component));
  const folder = join(harness, component.module);
  for (const file of readdirSync(folder).sort()) hash.update(readFileSync(join(folder, file)));
  return hash.digest('hex');
}
