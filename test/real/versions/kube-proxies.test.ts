import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { type ControlPlane, startControlPlane } from '../../../harness/api-server/control-plane.ts';
import { ensureKubeProxy, kubeProxies } from '../../../harness/versions/components.ts';
import { expectToFollowSite } from '../../../harness/versions/kube-proxy-judge.ts';
import { type SiteScene, startSiteScene } from '../../../harness/versions/site-scene.ts';
import { stoppedLater } from '../../support/closed-later.ts';

/* Stock kube-proxies of many versions behind the wrapper, at the API server of all suites. */

jest.setTimeout(600_000);

let plane: ControlPlane;

beforeAll(async () => {
  plane = stoppedLater(await startControlPlane());
});

const rows = kubeProxies.flatMap(({ version, modes }) => modes.map((mode) => ({ version, mode })));

describe.each(rows)('kube-proxy $version ($mode)', ({ version, mode }) => {
  let scene: SiteScene;

  beforeAll(async () => {
    const id = `${version.replaceAll('.', '-')}-${mode}`;
    scene = await startSiteScene({ plane, id });
  });

  afterAll(async () => {
    await scene?.stop();
  });

  test('programs the endpoints of the site, and follows a relabel of its node', async () => {
    const kubeProxy = await ensureKubeProxy(version);
    const { log } = await scene.node.startKubeProxy({ mode }, { kubeProxy });
    await expectToFollowSite(scene, mode);
    expect(log()).toContain(`v${version}`);
  });
});
