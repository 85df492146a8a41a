import type { NodeNetns } from './node-netns.ts';

/** How often each answer came: an endpoint's `ip:port`, `refused`, `timeout` or an errno. */
export type DialCounts = Readonly<Record<string, number>>;

/**
 * Connects `count` times (default 40, 16 at a time) to `target` (`ip:port`, such as a cluster IP)
 * from inside the namespace, and counts who answers.
 *
 * @param timeoutMs for each connection. Default 5,000, in which the kernel tries a lost SYN again
 *     (after 1 and 3 s): it sends only so many refusals a second (net.ipv4.icmp_msgs_per_sec).
 */
export async function dial(
  netns: NodeNetns,
  target: string,
  count = 40,
  timeoutMs = 5_000,
): Promise<DialCounts> {
  return (await netns.ask({ op: 'dial', target, count, timeoutMs })) as DialCounts;
}
