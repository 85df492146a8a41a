/*
 * An older Node.js would fail later with an error that does not mention the version. Must be the import of main.ts
 * after no-inspector.ts.
 */

/** The same version as in `engines` of package.json. */
const MIN_MAJOR = 24;

if (Number.parseInt(process.versions.node, 10) < MIN_MAJOR) {
  process.stderr.write(
    `kube-proxy-wrapper: needs Node.js ${MIN_MAJOR} or newer, this is ${process.versions.node}\n`,
  );
  process.exit(1);
}
