import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { loadSettings } from '../../../src/config/settings.ts';
import type { ControlPlane } from '../../e2e/support/control-plane.ts';
import { runCommand } from '../../e2e/support/run-command.ts';
import { schemaLocation, writeJsonSchemas } from './json-schemas.ts';
import { writeAside } from './overlay.ts';
import { kubectl, startBarePlane } from './plane.ts';
import { parseObjects } from './render.ts';
import { everySetting } from './settings.ts';
import type { Tools } from './tools.ts';

/** A set of objects that we ship: its name, and how its YAML comes about. */
export type Rendered = readonly [name: string, render: () => Promise<string>];

/** Checks objects with an API server, and with kubeconform and the schemas of that server. */
export interface Judges {
  readonly tools: Tools;
  readonly plane: ControlPlane;
  /** The folder of the schemas. */
  readonly schemas: string;
  stop(): Promise<void>;
}

export async function startJudges(tools: Tools): Promise<Judges> {
  const plane = await startBarePlane();
  const schemas = mkdtempSync(join(tmpdir(), 'kpw-schemas-'));
  const stop = async () => {
    rmSync(schemas, { recursive: true, force: true });
    await plane.stop();
  };
  try {
    await writeJsonSchemas(plane.admin, schemas);
  } catch (error) {
    await stop();
    throw error;
  }
  return { tools, plane, schemas, stop };
}

/** Runs kubeconform on YAML. Throws if it finds an error. */
export async function kubeconform({ tools, schemas }: Judges, input: string): Promise<string> {
  const args = ['-strict', '-summary', '-schema-location', join(schemas, schemaLocation), '-'];
  return await runCommand(tools.kubeconform, args, { input });
}

/** Tests that each set of objects is right. `judges` is called in the tests, when there are some. */
export function describeAccepted(rows: readonly Rendered[], judges: () => Judges): void {
  describe.each(rows)('%s', (_name, render) => {
    test('is what the schemas of Kubernetes say, by kubeconform', async () => {
      const said = await kubeconform(judges(), await render());
      expect(said).toMatch(/Valid: [1-9]\d*, Invalid: 0, Errors: 0, Skipped: 0/);
    });

    test('is taken by the API server', async () => {
      const { tools, plane } = judges();
      const args = ['apply', '--server-side', '--dry-run=server', '--validate=strict', '-f', '-'];
      const said = await kubectl(tools, plane, args, await render());
      expect(said).toContain('serverside-applied (server dry run)');
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
