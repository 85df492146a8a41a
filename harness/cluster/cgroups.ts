import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { poll } from '../poll.ts';

const ROOT = '/sys/fs/cgroup';

/**
 * Below it containerd has a folder for each container, by the id. It is on the node's disk, so it outlives the node.
 */
const TASKS = 'var/lib/containerd/io.containerd.runtime.v2.task/k8s.io';

/**
 * Removes the cgroups of the containers of a node whose processes have ended, or end now. They are /k8s.io/<id>, beside
 * those of other clusters: in version 1 in one tree for each controller, in version 2 in a single one.
 */
export async function removeCgroups(nodeFolder: string): Promise<void> {
  const tasks = join(nodeFolder, TASKS);
  const ids = existsSync(tasks) ? readdirSync(tasks) : [];
  const trees = [ROOT, ...readdirSync(ROOT).map((each) => join(ROOT, each))];
  const ours = trees.flatMap((tree) => ids.map((id) => join(tree, 'k8s.io', id)));
  for (const folder of ours.filter(existsSync)) {
    // A cgroup is busy until the last of its processes has been reaped.
    await poll(
      () => removeTree(folder),
      () => true,
      { what: `the removal of ${folder}` },
    );
  }
}

/** Only the folders can be removed: the files in them are the kernel's. */
function removeTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) removeTree(join(folder, entry.name));
  }
  rmdirSync(folder);
}
