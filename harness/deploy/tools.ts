import { join } from 'node:path';
import { type Component, ensureBinaries, ensureBinary } from '../process/binaries.ts';

/** Paths of the programs that check manifests. */
export interface Tools {
  readonly kubectl: string;
  /** Reads a Dockerfile as BuildKit does; see tools/dockerfile/main.go. */
  readonly dockerfile: string;
  /** Checks workflows of GitHub Actions. */
  readonly actionlint: string;
}

/** The same, with those that check the chart and the alert rules. */
export interface ChartTools extends Tools {
  readonly helm: string;
  readonly promtool: string;
}

/** Builds what is missing or out of date, as the end-to-end tests do with Kubernetes itself. */
export async function ensureTools(report: (line: string) => void = () => {}): Promise<Tools> {
  return {
    kubectl: (await ensureBinaries(report)).kubectl,
    dockerfile: await ensureBinary(tool('dockerfile', '0.34.2', '.'), report),
    actionlint: await ensureBinary(
      tool('actionlint', '1.7.12', 'github.com/rhysd/actionlint/cmd/actionlint'),
      report,
    ),
  };
}

/** Builds helm and promtool besides. The first call takes about 5 minutes more, of 2 cores. */
export async function ensureChartTools(
  report: (line: string) => void = () => {},
): Promise<ChartTools> {
  return {
    ...(await ensureTools(report)),
    helm: await ensureHelm(report),
    promtool: await ensureBinary(
      {
        ...tool('promtool', '3.15.0', 'github.com/prometheus/prometheus/cmd/promtool'),
        // Without service discovery, which rules have no use for: minutes less to build.
        flags: ['-tags', 'remove_all_sd'],
      },
      report,
    ),
  };
}

export async function ensureHelm(report: (line: string) => void = () => {}): Promise<string> {
  return await ensureBinary(tool('helm', '4.3.1', 'helm.sh/helm/v4/cmd/helm'), report);
}

function tool(name: string, version: string, target: string): Component {
  const module = join('deploy/tools', name);
  return { name, version, module, target, flags: [], ldflags: '-s -w' };
}
