/** A container that runs. */
export interface Container {
  readonly id: string;
  readonly pod: string;
  /** Name in the Pod. */
  readonly name: string;
  /** In the node's pid namespace. */
  readonly pid: number;
}

/**
 * Lists the containers that run, without sandboxes.
 *
 * @param ctr runs ctr on the node, in the namespace of Kubernetes
 */
export async function listContainers(
  ctr: (...args: string[]) => Promise<string>,
): Promise<Container[]> {
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
