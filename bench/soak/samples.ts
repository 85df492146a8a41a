import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** What a process holds at a moment. */
export interface Sample {
  /** Seconds since the run began. */
  readonly seconds: number;
  /** Resident memory, in MB (10⁶ bytes). */
  readonly rss: number;
  /** Open file descriptors, sockets among them. */
  readonly handles: number;
  readonly sockets: number;
  // A relay has no metrics, which tell the rest.
  /** Used JavaScript heap, in MB. */
  readonly heap?: number;
  /** Buffers and what else Node holds beside the heap, in MB. */
  readonly external?: number;
  /** What Node keeps alive: sockets, timers, requests. */
  readonly resources?: number;
  /** Watches that are open at the API server. */
  readonly watches?: number;
}

/** @param metrics URL; undefined: it has none. Throws where the process does not tell one of these. */
export async function takeSample(
  pid: number,
  metrics: string | undefined,
  seconds: number,
): Promise<Sample> {
  return parseSample(
    {
      metrics: metrics === undefined ? undefined : await (await fetch(metrics)).text(),
      status: readFileSync(`/proc/${pid}/status`, 'utf8'),
      links: readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`)),
    },
    seconds,
  );
}

/** What is read of a process. */
interface ProcessState {
  /** Its page of metrics. */
  readonly metrics: string | undefined;
  /** /proc/<pid>/status */
  readonly status: string;
  /** What its file descriptors are links to. */
  readonly links: readonly string[];
}

export function parseSample({ metrics, status, links }: ProcessState, seconds: number): Sample {
  return {
    seconds,
    rss: (find(status, /^VmRSS:\s+(\d+) kB$/m) * 1024) / 1e6,
    handles: links.length,
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    ...(metrics === undefined
      ? {}
      : {
          heap: metric(metrics, 'nodejs_heap_size_used_bytes') / 1e6,
          external: metric(metrics, 'nodejs_external_memory_bytes') / 1e6,
          resources: metric(metrics, 'nodejs_active_resources_total'),
          watches: metrics.match(/^kube_proxy_wrapper_upstream_connected\{.*\} 1$/gm)?.length ?? 0,
        }),
  };
}

/** Empty for one that was closed meanwhile. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function metric(text: string, name: string): number {
  return find(text, new RegExp(`^${name} (\\S+)$`, 'm'));
}

/** A number that is not there must not pass for one that does not rise. */
function find(text: string, pattern: RegExp): number {
  const value = Number(pattern.exec(text)?.[1]);
  if (!Number.isFinite(value)) throw new Error(`nothing matches ${pattern}`);
  return value;
}
