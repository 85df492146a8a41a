import { expect, test } from '@jest/globals';
import { type Bom, bomOfBundle } from '../../../scripts/release/sbom.ts';

function component(name: string, version: string) {
  const properties = [
    { name: 'cdx:npm:package:path', value: `node_modules/${name}` },
    { name: 'cdx:npm:package:development', value: 'true' },
  ];
  const ref = `${name}@${version}`;
  return { 'bom-ref': ref, name, version, type: 'library', scope: 'optional', properties };
}

const root = { ...component('folder', '1.0.0'), 'bom-ref': 'wrapper@1.0.0' };
const bom: Bom = {
  bomFormat: 'CycloneDX',
  metadata: { component: root, tools: [] },
  components: [component('@x/a', '1.0.0'), component('b', '2.0.0'), component('jest', '30.0.0')],
  dependencies: [
    { ref: 'wrapper@1.0.0', dependsOn: ['@x/a@1.0.0', 'jest@30.0.0'] },
    { ref: '@x/a@1.0.0', dependsOn: ['b@2.0.0', 'jest@30.0.0'] },
    { ref: 'jest@30.0.0', dependsOn: ['b@2.0.0'] },
  ],
};

/** As scripts/licences.ts writes it. */
function licences(...headings: string[]): string {
  return ['Packages', ...headings].join(`\n\n${'-'.repeat(80)}\n\n`);
}

const both = licences('@x/a 1.0.0 (MIT)\n\ntext', 'b 2.0.0 ((MIT OR Apache-2.0))\n\ntext');

test('the SBOM has the packages of the bundle as required, and no tool of the developers', () => {
  const { components } = bomOfBundle(bom, 'wrapper', both);
  expect(components.map(({ name, scope }) => [name, scope])).toEqual([
    ['@x/a', 'required'],
    ['b', 'required'],
  ]);
  expect(JSON.stringify(components)).not.toContain('development');
});

test('its dependencies point only to packages that it has', () => {
  expect(bomOfBundle(bom, 'wrapper', both).dependencies).toEqual([
    { ref: 'wrapper@1.0.0', dependsOn: ['@x/a@1.0.0', 'b@2.0.0'] },
    { ref: '@x/a@1.0.0', dependsOn: ['b@2.0.0'] },
  ]);
});

test('a package of the bundle that the lock file does not have is an error', () => {
  const more = licences('b 2.0.0 (MIT)', 'c 3.0.0 (MIT)', 'b 2.0.1 (MIT)');
  expect(() => bomOfBundle(bom, 'wrapper', more)).toThrow('the SBOM lacks c@3.0.0, b@2.0.1');
  expect(() => bomOfBundle(bom, 'wrapper', 'nothing')).toThrow('names no package');
});
