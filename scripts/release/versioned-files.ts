/** The files that name the version of the project. */
export const VERSIONED_FILES = [
  'package.json',
  'package-lock.json',
  'README.md',
  'image/Dockerfile',
  'charts/kube-proxy-wrapper/Chart.yaml',
  'docs/commands.md',
  'docs/deployment.md',
  'docs/deployment-systemd.md',
  'manifests/base/kustomization.yaml',
  'manifests/components/relay/daemonset.yaml',
  'manifests/components/state/daemonset.yaml',
  'manifests/overlays/sidecar/patch.yaml',
  'manifests/static-pods/kube-proxy-wrapper.yaml',
  'manifests/systemd/kube-proxy-wrapper.service',
] as const;

/** Replaces our own version only: a package that we use can have the same. */
export function replaceVersion(
  text: string,
  { name, version, next }: { name: string; version: string; next: string },
): string {
  const own = [
    // In package.json and package-lock.json it follows the name.
    `"name": "${name}",\\s+"version": "`,
    // Images, packages.
    `${name}[:-]`,
    'newTag: ',
    '[*][*]Status[*][*]: ',
    // The last one is in the output of `kubectl kpw status`.
    '\\n(?:version: |appVersion: |version )',
  ];
  // Not a part of a longer one, such as 1.1.0 in 1.1.0-dev.
  const end = '(?![0-9A-Za-z-]|[.][0-9])';
  const pattern = new RegExp(`(${own.join('|')})${version.replaceAll('.', '[.]')}${end}`, 'g');
  return text.replaceAll(pattern, (_, before: string) => before + next);
}
