/** Modules by the end of their path, and whole folders of them, that a node with kube-proxy in IPVS mode needs. */
const wanted: readonly RegExp[] = [
  /\/kernel\/net\/netfilter\//,
  /\/kernel\/net\/ipv4\/netfilter\//,
  /\/kernel\/net\/bridge\/(bridge|br_netfilter)\.ko/,
  /\/kernel\/drivers\/net\/(dummy|veth|virtio_net)\.ko/,
  /\/kernel\/drivers\/virtio\/virtio_pci\.ko/,
  /\/kernel\/drivers\/char\/virtio_console\.ko/,
];

/**
 * Picks from the text of `modules.dep` the modules that a node needs, and all that these depend on.
 *
 * @param folder of modules.dep, with which the returned paths begin, such as `/lib/modules/6.1.0`.
 */
export function selectModules(modulesDep: string, folder: string): Set<string> {
  const dependencies = new Map(
    modulesDep.split('\n').flatMap((line) => {
      const [module, rest] = line.split(':');
      const names = rest?.trim().split(' ') ?? [];
      return module === undefined || rest === undefined ? [] : [[module, names] as const];
    }),
  );
  const selected = new Set<string>();
  for (const [module, names] of dependencies) {
    // modules.dep lists indirect dependencies, too.
    if (wanted.some((pattern) => pattern.test(`/${module}`))) {
      for (const name of [module, ...names]) if (name !== '') selected.add(`${folder}/${name}`);
    }
  }
  return selected;
}
