import { describe, expect, test } from '@jest/globals';
import { parseCommandLine } from '../../cli/command-line/command-line.ts';
import { type ServiceFlags, serviceArgument } from '../../cli/command-line/service-argument.ts';
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

  test.each([
    [
      ['run', '--nodename', 'x'],
      "unknown option '--nodename' (Did you mean --node-name?). See kube-proxy-wrapper run --help",
    ],
    [['explain', '--context', 'x'], "unknown option '--context'. See"],
    [['explain', '-x'], "unknown option '-x'. See kube-proxy-wrapper explain --help"],
    [['explain', '--namespace'], "option '-n, --namespace <NS>' argument missing. See"],
    [
      ['explain', '-n', '--warnings'],
      "option '-n, --namespace <NS>' needs a value, not --warnings",
    ],
    [['explain', '--warnings=2'], "unknown option '--warnings=2'"],
    [
      ['explain', '-o', 'jsn'],
      "option '-o, --output <FORMAT>' argument 'jsn' is invalid. Allowed choices are text, json, yaml, wide. See",
    ],
    [['status', '--admin', '127.0.0.1:99999'], "argument '127.0.0.1:99999' is invalid. It must be"],
    [['status', '--admin', '::1:1'], "argument '::1:1' is invalid. It must be IP:PORT"],
    [['explain', '-n', 'a', '-A'], "option '-A, --all-namespaces' cannot be used with option '-n"],
    [['version', 'x'], "too many arguments for 'version'. Expected 0 arguments but got 1: x. See"],
    [['expain'], "unknown command 'expain' (Did you mean explain?). See kube-proxy-wrapper --help"],
    [['walk'], "unknown command 'walk'. See"],
    [['expain', '--help'], "unknown command 'expain' (Did you mean explain?). See"],
    [['help', 'expain'], "unknown command 'expain' (Did you mean explain?). See"],
    [['-n', 'shop', 'explain'], "unknown option '-n'. See kube-proxy-wrapper --help"],
  ])('%j is refused in one line', (args, message) => {
    expect(() => parse(...args)).toThrow(message);
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

  test.each([[['a', 'b']], [['a/b/c']], [['/web']], [['svc/']]])('%j is refused', (args) => {
    expect(() => serviceArgument(args, {})).toThrow(/unexpected|must be NAMESPACE\/SERVICE/);
  });

  // explain ignored them, and simulate said that the Service does not exist.
  test.each<[string, ServiceFlags, string]>([
    ['default/web', { namespace: 'shop' }, 'default/web is not in namespace shop: leave out -n'],
    ['web', { selector: 'a=b' }, '--selector selects Services, and web is one'],
    ['web', { warnings: true }, '--warnings selects Services, and web is one'],
  ])('%s with %j is refused', (name, flags, message) => {
    expect(() => serviceArgument([name], flags)).toThrow(message);
  });

  test('its namespace can be given twice', () => {
    const flags = { namespace: 'shop', warnings: false };
    expect(serviceArgument(['shop/web'], flags)).toEqual({ namespace: 'shop', name: 'web' });
  });
});
