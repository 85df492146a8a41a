import { beforeAll } from '@jest/globals';
import type { ControlPlane } from '../../../../harness/api-server/control-plane.ts';
import { describeAccepted, type Rendered } from '../../../../harness/deploy/accepted.ts';
import { startBarePlane } from '../../../../harness/deploy/plane.ts';
import { helmTemplate } from '../../../../harness/deploy/render.ts';
import { everySetting } from '../../../../harness/deploy/settings.ts';
import { type ChartTools, ensureChartTools } from '../../../../harness/deploy/tools.ts';
import { stoppedLater } from '../../../support/closed-later.ts';

let tools: ChartTools;
let plane: ControlPlane;

beforeAll(async () => {
  tools = await ensureChartTools();
  plane = stoppedLater(await startBarePlane());
}, 600_000);

const host = 'apiServer.host=192.0.2.1';
const { nodeName: _name, kubeconfig: _path, ...allSettings } = everySetting;

/** How the objects of the chart come about. */
const rendered: readonly Rendered[] = [
  ['chart, default values', async () => await helmTemplate(tools, [host])],
  [
    'chart, all values',
    async () =>
      await helmTemplate(tools, [
        host,
        'metrics.onNodeAddress=true',
        'kubeProxyKubeconfig.create=true',
        'image.tag=v1',
        'image.pullPolicy=Always',
        'imagePullSecrets[0].name=a',
        'podAnnotations.a=b',
        'podLabels.c=d',
        'updateStrategy.rollingUpdate.maxSurge=0',
        'updateStrategy.rollingUpdate.maxUnavailable=1',
      ]),
  ],
  [
    'chart, all settings',
    async () =>
      await helmTemplate(
        tools,
        [host],
        [],
        ['--set-json', `settings=${JSON.stringify(allSettings)}`],
      ),
  ],
  [
    'chart, a kubeconfig',
    async () =>
      await helmTemplate(
        tools,
        [],
        [],
        ['--set-file', 'kubeconfig=manifests/overlays/kubeedge/kubeconfig.conf'],
      ),
  ],
];

describeAccepted(rendered, () => plane);
