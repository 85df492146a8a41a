import { describe, expect, test } from '@jest/globals';
import { parseCommandLine } from '../../src/commands/command-line/parse.ts';
import { COMMANDS } from '../../src/commands/definitions/all.ts';
import { serviceArgument } from '../../src/commands/service-argument.ts';
import { didYouMean } from '../../src/did-you-mean.ts';

function parse(name: string, ...args: string[]) {
  const command = COMMANDS.find((each) => each.name === name);
  if (command === undefined) throw new Error(`no command ${name}`);
  return parseCommandLine(command, args, 'kube-proxy-wrapper');
}

describe('parseCommandLine()', () => {
  test.each<[string[], object]>([
    [['-n', 'shop', '-o', 'json'], { namespace: 'shop', output: 'json' }],
    [['-nshop', '-A'], { namespace: 'shop', 'all-namespaces': true }],
    [['--namespace=shop', '--warnings=false'], { namespace: 'shop', warnings: false }],
    [['-o', 'wide'], { output: 'wide' }],
    [['--selector=-a'], { selector: '-a' }],
  ])('%j has the flags %j', (args, flags) => {
    expect(parse('explain', ...args)).toMatchObject({ flags, args: [] });
  });

  test('a flag that can be given several times keeps all values', () => {
    expect(parse('simulate', '-f', 'a', '--from', '-').flags).toEqual({ from: ['a', '-'] });
  });

  test.each([
    [
      'run',
      ['--nodename', 'x'],
      'run has no flag --nodename. Did you mean --node-name? See kube-proxy-wrapper run --help',
    ],
    ['explain', ['--context', 'x'], 'explain has no flag --context. See'],
    ['explain', ['-x'], 'explain has no flag -x. See'],
    ['explain', ['--namespace'], '--namespace needs a value, NS. See'],
    ['explain', ['-n', '--warnings'], '-n needs a value, NS. See'],
    ['explain', ['--warnings=2'], '--warnings has no value, not "2". See'],
    ['explain', ['-o', 'jsn'], '--output must be one of text, json, yaml, wide, not "jsn"'],
    ['explain', ['a', 'b', 'c'], 'unexpected "c". See'],
  ])('%s %j is refused in our words', (command, args, message) => {
    expect(() => parse(command, ...args)).toThrow(message);
  });
});

test.each([
  ['expain', 'explain'],
  ['simualte', 'simulate'],
  ['vers', 'version'],
  ['walk', undefined],
  ['x', undefined],
])('%s means %s', (typed, meant) => {
  expect(
    didYouMean(
      typed,
      COMMANDS.map(({ name }) => name),
    ),
  ).toBe(meant);
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

  test.each([[['a', 'b']], [['a/b/c']], [['/web']], [['svc/']]])('%j is refused', (args) => {
    expect(() => serviceArgument(args, {})).toThrow(/unexpected|must be NAMESPACE\/SERVICE/);
  });

  test('-n and -A exclude each other', () => {
    expect(() => serviceArgument([], { namespace: 'a', 'all-namespaces': true })).toThrow(
      /not both/,
    );
  });
});
