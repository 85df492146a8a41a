import { Option } from 'commander';
import type { Command } from '../command-line/command.ts';
import type { DemoFlags } from '../demo/demo.ts';
import { listFlag } from './flags.ts';

/** `kube-proxy-wrapper demo`. */
export const demo: Command<DemoFlags> = {
  name: 'demo',
  summary: 'try it on a cluster in memory, without Kubernetes',
  description: `Runs the real wrapper on a cluster in memory, and shows what kube-proxy would see on a node. Then you change labels,
annotations and the readiness of endpoints, and see what changes and why, here and on a page. With --cluster it is a
copy of your own cluster: the demo sends nothing to it.`,
  usage: [
    ['[flags]', 'an example with two edge sites and a cloud region'],
    ['--cluster FILE... [flags]', 'a copy of your own cluster'],
  ],
  flags: [
    listFlag(
      '-f, --cluster <FILE>',
      'YAML or JSON from kubectl get -o yaml: a file, a folder, or - for standard input. Other kinds than those that policies need are ignored',
    ),
    new Option(
      '--node <NAME>',
      'the node that is shown first; default: edge-1 of the example, or the first one',
    ),
    new Option('--once', 'print the tables without waiting for commands, and end'),
  ],
  notes: 'Type help in the demo for its commands. docs/demo.md says what to try.',
  examples: [
    '{program} demo',
    'kubectl get nodes,svc,endpointslices -A -o yaml > cluster.yaml',
    '{program} demo --cluster cluster.yaml --node edge-1',
    'kubectl get nodes,svc,endpointslices -A -o yaml | {program} demo --cluster -',
  ],
  exits: {
    0: 'ended by the user',
    1: 'the cluster cannot be read, or this installation has no demo',
  },
  execute: async (call) => (await import('../demo/demo.ts')).executeDemo(call),
};
