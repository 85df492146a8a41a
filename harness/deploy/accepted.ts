import { describe, expect, test } from '@jest/globals';
import { loadSettings } from '../../src/config/settings.ts';
import type { ControlPlane } from '../api-server/control-plane.ts';
import { writeAside } from './overlay.ts';
import { parseObjects } from './render.ts';
import { everySetting } from './settings.ts';

/** A set of objects that we ship: its name, and how its YAML comes about. */
export type Rendered = readonly [name: string, render: () => Promise<string>];

/** Throws if the API server would refuse an object, or ignore one of its fields. */
export async function expectAccepted(plane: ControlPlane, yaml: string): Promise<void> {
  const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
  const output = await plane.kubectl(args, yaml);
  expect(output).toContain('serverside-applied (server dry run)');
}

/** Tests that each set of objects is right. `plane` is called in the tests, when there is one. */
export function describeAccepted(rows: readonly Rendered[], plane: () => ControlPlane): void {
  describe.each(rows)('%s', (_name, render) => {
    test('is taken by the API server', async () => {
      await expectAccepted(plane(), await render());
    });

    test('has settings that the wrapper takes', async () => {
      const { nodeName } = everySetting;
      for (const { kind, data = {}, metadata } of parseObjects(await render())) {
        if (kind !== 'ConfigMap' || data['config.yaml'] === undefined) continue;
        expect(metadata.name).toMatch(/^kube-proxy-wrapper/);
        await writeAside({ text: data['config.yaml'] }, async (file) => {
          expect(loadSettings({ nodeName }, {}, file).nodeName).toBe(nodeName);
        });
      }
    });
  });
}
