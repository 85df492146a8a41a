/* An older Node.js would fail later, at something that names no version. Must be the first import of main.ts. */

/** As `engines` of package.json says. */
const LEAST = 24;

if (Number.parseInt(process.versions.node, 10) < LEAST) {
  process.stderr.write(
    `kube-proxy-wrapper: needs Node.js ${LEAST} or newer, this is ${process.versions.node}\n`,
  );
  process.exit(1);
}
