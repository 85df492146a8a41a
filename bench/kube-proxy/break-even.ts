import type { KubeProxyMode } from '../../harness/node/kube-proxy.ts';
import { figure, formatRows } from '../table.ts';
import type { GainCase } from './measure.ts';

/** What the cases of one cluster need: of kube-proxy alone, and of kube-proxy and wrapper together. */
export interface Needs {
  readonly services: number;
  readonly mode: KubeProxyMode;
  readonly memory: SharedNeed;
  readonly cpu: SharedNeed;
}

/** Memory in MB (10⁶ bytes), or CPU time in seconds. */
export interface Need {
  readonly alone: number;
  readonly together: number;
}

/** What both need together, and the wrapper's part of it. */
interface SharedNeed extends Need {
  readonly wrapper: number;
}

/** @param cases of a cluster with so many Services; both targets of each mode */
export function needsOf(services: number, cases: readonly GainCase[]): Needs[] {
  return cases.flatMap((together) => {
    const alone = cases.find(({ mode, target }) => target === 'direct' && mode === together.mode);
    if (together.target !== 'wrapper' || alone === undefined) return [];
    return {
      services,
      mode: together.mode,
      memory: needOf(alone.memory, together.memory),
      cpu: needOf(alone.window.cpu, together.window.cpu),
    };
  });
}

function needOf(alone: GainCase['memory'], together: GainCase['memory']): SharedNeed {
  const { kubeProxy, wrapper = 0 } = together;
  return { alone: alone.kubeProxy, together: kubeProxy + wrapper, wrapper };
}

/**
 * The number of Services from which on both together need less than kube-proxy alone, on a straight line between the
 * two clusters around it. Undefined: not even in the largest; the smallest if both need less in all.
 *
 * @param needs of clusters of growing size
 */
export function breakEven(
  needs: readonly { readonly services: number; readonly need: Need }[],
): number | undefined {
  const gainOf = ({ need }: { readonly need: Need }) => need.alone - need.together;
  const lastLoss = needs.findLastIndex((each) => gainOf(each) <= 0);
  const [loss, gain] = [needs[lastLoss], needs[lastLoss + 1]];
  if (gain === undefined) return undefined;
  if (loss === undefined) return gain.services;
  const share = -gainOf(loss) / (gainOf(gain) - gainOf(loss));
  return loss.services + share * (gain.services - loss.services);
}

const HEADER = [
  'Services',
  'mode',
  'memory alone, MB',
  'with the wrapper',
  'its part',
  'CPU alone, s',
  'with the wrapper',
  'its part',
];

/** Lines of a Markdown table, and one line for each mode. */
export function formatBreakEven(needs: readonly Needs[]): string {
  const rows = needs.map(({ services, mode, memory, cpu }) => [
    String(services),
    mode,
    figure(memory.alone),
    figure(memory.together),
    figure(memory.wrapper),
    figure(cpu.alone),
    figure(cpu.together),
    figure(cpu.wrapper),
  ]);
  const modes = [...new Set(needs.map(({ mode }) => mode))];
  const lines = modes.map((mode) => {
    const ofMode = needs.filter((each) => each.mode === mode);
    const from = (which: 'memory' | 'cpu') => {
      const services = breakEven(
        ofMode.map((each) => ({ services: each.services, need: each[which] })),
      );
      const largest = ofMode.at(-1)?.services ?? 0;
      return services === undefined
        ? `not with ${largest} Services`
        : `from ${Math.round(services)} Services on`;
    };
    return `- **${mode}**: less memory ${from('memory')}, less CPU ${from('cpu')}.`;
  });
  return `${formatRows([HEADER, ...rows], 2)}\n\n${lines.join('\n')}`;
}
