import { writeFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { dump } from 'js-yaml';
import { createReader } from '../../src/client/credentials/credentials-reader.ts';
import { readFromKubeconfig } from '../../src/client/credentials/credentials-source.ts';
import { selectContext } from '../../src/client/credentials/kubeconfig.ts';
import { WrapperError } from '../../src/errors.ts';
import { budget, FUZZ_TIMEOUT_MS } from './budget.ts';
import { mutate, mutations } from './mutate.ts';
import { useTemporaryFile } from './temporary-file.ts';

const SECRET = 'c2VjcmV0LXRva2Vu';
const EXAMPLE = {
  apiVersion: 'v1',
  kind: 'Config',
  'current-context': 'here',
  contexts: [{ name: 'here', context: { cluster: 'edge', user: 'me', namespace: 'a' } }],
  clusters: [
    {
      name: 'edge',
      cluster: { server: 'https://10.0.0.1:6443', 'certificate-authority-data': 'AAAA' },
    },
  ],
  users: [{ name: 'me', user: { token: SECRET, 'client-certificate': 'a', 'client-key': 'b' } }],
};

const file = useTemporaryFile('kubeconfig');

function expectUserOrReason(text: string): void {
  try {
    const { cluster, user } = selectContext([{ file, text }]);
    expect(createReader(cluster, user, { pluginMs: 10_000 })).toBeInstanceOf(Function);
  } catch (error) {
    if (!(error instanceof WrapperError)) throw error;
    expect(error.code).toBe('Credentials');
    expect(error.message).not.toContain(SECRET);
  }
}

const yaml = Buffer.from(dump(EXAMPLE));

describe('selectContext() and createReader() return a user, or throws Credentials without quoting the token', () => {
  test(
    'for damaged kubeconfigs',
    () => {
      const property = fc.property(mutations, (damage) => {
        expectUserOrReason(mutate(yaml, damage).toString());
      });
      fc.assert(property, budget);
    },
    FUZZ_TIMEOUT_MS,
  );

  test(
    'for kubeconfigs with values of other kinds',
    () => {
      const path = fc.constantFrom<readonly (string | number)[]>(
        ['current-context'],
        ['contexts'],
        ['contexts', 0],
        ['contexts', 0, 'context'],
        ['contexts', 0, 'name'],
        ['contexts', 0, 'context', 'cluster'],
        ['clusters'],
        ['contexts', 0, 'context', 'user'],
        ['clusters', 0],
        ['clusters', 0, 'cluster'],
        ['clusters', 0, 'cluster', 'server'],
        ['users'],
        ['users', 0],
        ['users', 0, 'user'],
        ['users', 0, 'user', 'token'],
        ['users', 0, 'user', 'tokenFile'],
        ['users', 0, 'user', 'exec'],
        ['users', 0, 'user', 'auth-provider'],
      );
      const property = fc.property(path, fc.anything({ maxDepth: 2 }), (keys, value) => {
        expectUserOrReason(JSON.stringify(withValue(EXAMPLE, keys, value)));
      });
      fc.assert(property, budget);
    },
    FUZZ_TIMEOUT_MS,
  );
});

describe('a kubeconfig file', () => {
  test(
    'with damaged bytes is read, or is refused with Credentials or InvalidSettings',
    async () => {
      const property = fc.asyncProperty(mutations, async (damage) => {
        writeFileSync(file, mutate(yaml, damage));
        try {
          await readFromKubeconfig([file], { pluginMs: 10_000 })(false);
        } catch (error) {
          if (!(error instanceof WrapperError)) throw error;
          expect(['Credentials', 'InvalidSettings']).toContain(error.code);
        }
      });
      await fc.assert(property, budget);
    },
    FUZZ_TIMEOUT_MS,
  );
});

/** A copy with another value at the path that the keys give. */
function withValue(tree: unknown, keys: readonly (string | number)[], value: unknown): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return value;
  const copy = Array.isArray(tree) ? [...tree] : { ...(tree as object) };
  Reflect.set(copy, key, withValue(Reflect.get(copy, key), rest, value));
  return copy;
}
