import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Live bytes on the heap and outside it. */
export async function liveBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let n = 0; n < 3; n++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    collect();
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
