/** A CycloneDX document as `npm sbom` writes it, as far as it is changed here. */
export interface Bom {
  readonly metadata: { readonly component: Component; readonly [key: string]: unknown };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
  readonly [key: string]: unknown;
}

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly type: string;
  readonly scope?: string;
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
  readonly [key: string]: unknown;
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
}

const DEVELOPMENT = 'cdx:npm:package:development';

/**
 * Keeps only the packages that dist contains. All packages are development dependencies, because the bundle contains
 * what it needs; so `npm sbom` alone lists either every tool or nothing.
 *
 * @param licences text of dist/THIRD-PARTY-LICENSES, which esbuild's list of inputs decides.
 * @throws if a package of the bundle is not in the document.
 */
export function bomOfBundle(bom: Bom, name: string, licences: string): Bom {
  const bundled = bundledPackages(licences);
  const components = bom.components.filter((each) => bundled.has(idOf(each))).map(asBundled);
  const found = new Set(components.map(idOf));
  const missing = [...bundled].filter((id) => !found.has(id));
  if (missing.length > 0) throw new Error(`the SBOM lacks ${missing.join(', ')}`);
  const root = { ...bom.metadata.component, name, type: 'application' };
  const refs = new Set(components.map((each) => each['bom-ref']));
  const dependencies = bom.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((to) => refs.has(to)) }));
  return {
    ...bom,
    metadata: { ...bom.metadata, lifecycles: [{ phase: 'build' }], component: root },
    components,
    dependencies: [{ ref: root['bom-ref'], dependsOn: [...refs] }, ...dependencies],
  };
}

/** `name@version` of each package, from the headings `name version (licence)`. */
function bundledPackages(licences: string): Set<string> {
  const headings = licences.matchAll(/^-{80}\n\n(\S+) (\S+) \(.+\)$/gm);
  const packages = new Set([...headings].map(([, name, version]) => `${name}@${version}`));
  if (packages.size === 0) throw new Error('dist/THIRD-PARTY-LICENSES names no package');
  return packages;
}

/** The program contains it: it is neither optional nor a tool of the developers. */
function asBundled(component: Component): Component {
  const properties = (component.properties ?? []).filter(({ name }) => name !== DEVELOPMENT);
  return { ...component, scope: 'required', properties };
}

function idOf({ name, version }: Component): string {
  return `${name}@${version}`;
}
