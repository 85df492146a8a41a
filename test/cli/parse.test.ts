import { describe, expect, test } from '@jest/globals';
import { parseCommandLine } from '../../cli/command-line/command-line.ts';
import { serviceArgument } from '../../cli/command-line/service-argument.ts';
import { KUBE_PROXY_WRAPPER } from '../../cli/definitions/all.ts';

function parse(...args: string[]) {
  const line = parseCommandLine(KUBE_PROXY_WRAPPER, args);
  if (!('call' in line)) throw new Error('no command');
  return line.call;
}

describe('parseCommandLine()', () => {
  test.each<[string[], object]>([
    [['-n', 'shop', '-o', 'json'], { namespace: 'shop', output: 'json' }],
    [['-nshop', '-l', 'a'], { namespace: 'shop', selector: 'a' }],
    [['--namespace=shop', '--warnings=false'], { namespace: 'shop', warnings: false }],
    [['-o', 'wide'], { output: 'wide' }],
    // It was refused: the flags conflicted.
    [['--all-namespaces=false', '-n', 'a'], { allNamespaces: false, namespace: 'a' }],
    [['--warnings', '--warnings=false'], { warnings: false }],
    [['--no-headers', '--no-warnings'], { headers: false, warnings: false }],
  ])('%j has the flags %j', (args, flags) => {
    expect(parse('explain', ...args)).toMatchObject({ flags, args: [] });
  });

  // It overrides the settings file.
  test('--dry-run=false is a setting', () => {
    expect(parse('run', '--dry-run=false').flags).toEqual({ dryRun: false });
    expect(parse('run').flags).toEqual({});
  });

  test('a flag that can be given several times keeps all values', () => {
    expect(parse('simulate', '-f', 'a', '--from', '-').flags).toMatchObject({ from: ['a', '-'] });
  });
});

describe('serviceArgument()', () => {
  test.each<[string[], string | undefined, string]>([
    [['web'], undefined, 'default/web'],
    [['web'], 'shop', 'shop/web'],
    [['shop/web'], undefined, 'shop/web'],
    [['svc/web'], 'shop', 'shop/web'],
    [['service', 'web'], undefined, 'default/web'],
    [['services/shop/web'], undefined, 'shop/web'],
  ])('%j with namespace %s is %s', (args, namespace, name) => {
    const found = serviceArgument(args, namespace === undefined ? {} : { namespace });
    expect(`${found?.namespace}/${found?.name}`).toBe(name);
  });

  test('its namespace can be given twice', () => {
    const flags = { namespace: 'shop', warnings: false };
    expect(serviceArgument(['shop/web'], flags)).toEqual({ namespace: 'shop', name: 'web' });
  });
});
