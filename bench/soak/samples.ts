import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** What a process holds at a moment. */
export interface Sample {
  /** Seconds since the first. */
  readonly seconds: number;
  /** Resident memory, in MB (10⁶ bytes). */
  readonly rss: number;
  /** Used JavaScript heap, in MB. */
  readonly heap: number;
  /** Buffers and what else Node holds beside the heap, in MB. */
  readonly external: number;
  /** Open file descriptors, sockets among them. */
  readonly handles: number;
  readonly sockets: number;
  /** What Node keeps alive: sockets, timers, requests. */
  readonly resources: number;
}

export async function takeSample(pid: number, metrics: string, seconds: number): Promise<Sample> {
  const text = await (await fetch(metrics)).text();
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    seconds,
    rss: (Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024) / 1e6,
    heap: metric(text, 'nodejs_heap_size_used_bytes') / 1e6,
    external: metric(text, 'nodejs_external_memory_bytes') / 1e6,
    handles: links.length,
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    resources: metric(text, 'nodejs_active_resources_total'),
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
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}
