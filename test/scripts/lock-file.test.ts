import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const read = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));

// `npm ci` would refuse it. It cannot be used here (scripts/ensure-installed.sh), and `npm install` resolves anew, unseen.
test('the lock file is of the versions that package.json asks for', () => {
  const { devDependencies, dependencies } = read('package.json');
  const { packages } = read('package-lock.json');
  expect(packages[''].devDependencies).toEqual(devDependencies);
  expect(packages[''].dependencies).toEqual(dependencies);
  expect(Object.keys(devDependencies).filter((name) => !packages[`node_modules/${name}`])).toEqual(
    [],
  );
});
