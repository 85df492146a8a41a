import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../e2e/support/eventually.ts';
import { prefixOf } from './owner.ts';

const ROOT = '/sys/fs/cgroup';

/** Removes the cgroups of a cluster: in version 1 there is one tree for each controller, in version 2 a single one. */
export async function removeCgroups(number: number): Promise<void> {
  const trees = [ROOT, ...readdirSync(ROOT).map((each) => join(ROOT, each))];
  const ours = trees.map((tree) => join(tree, prefixOf(number))).filter(existsSync);
  for (const folder of ours) {
    // A cgroup is busy until the last of its processes has been reaped.
    await eventually(
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
