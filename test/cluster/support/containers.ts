/** What containerd runs on a node. */
export interface Containers {
  /** Containers that run, without sandboxes. */
  containers(): Promise<Container[]>;
  /** Runs a command in a container of a Pod and returns its stdout. It needs no API server. */
  execInPod(pod: string, command: readonly string[], container?: string): Promise<string>;
}

/** A container that runs. */
export interface Container {
  readonly id: string;
  readonly pod: string;
  /** Name in the Pod. */
  readonly name: string;
  /** In the node's pid namespace. */
  readonly pid: number;
}

type Exec = (command: string, args: readonly string[]) => Promise<string>;

export function createContainers(exec: Exec): Containers {
  const ctr = async (...args: string[]) => await exec('ctr', ['-n', 'k8s.io', ...args]);
  const containers = async () => await listContainers(ctr);
  let execs = 0;
  return {
    containers,
    execInPod: async (pod, command, container) => {
      const found = (await containers()).find(
        (each) => each.pod === pod && (container ?? each.name) === each.name,
      );
      if (found === undefined) throw new Error(`no container of ${pod} runs on this node`);
      execs += 1;
      const id = `test-${process.pid}-${execs}`;
      return await ctr('tasks', 'exec', '--exec-id', id, found.id, ...command);
    },
  };
}

async function listContainers(ctr: (...args: string[]) => Promise<string>): Promise<Container[]> {
  const pids = new Map<string, number>();
  for (const line of (await ctr('tasks', 'ls')).split('\n').slice(1)) {
    const [id = '', pid, status] = line.trim().split(/\s+/);
    if (status === 'RUNNING') pids.set(id, Number(pid));
  }
  const only = 'labels."io.cri-containerd.kind"==container';
  const ids = (await ctr('containers', 'ls', '-q', only)).trim().split('\n').filter(Boolean);
  const found: Container[] = [];
  for (const id of ids) {
    const pid = pids.get(id);
    if (pid === undefined) continue;
    const { Labels } = JSON.parse(await ctr('containers', 'info', id)) as {
      Labels: Record<string, string>;
    };
    const label = (name: string) => Labels[`io.kubernetes.${name}`] ?? '';
    found.push({
      id,
      pid,
      pod: label('pod.name'),
      name: label('container.name'),
    });
  }
  return found;
}
