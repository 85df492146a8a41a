/** Prints one line of figures, such as `F5: 600 probes, 0 failed, slowest 41 ms`, so that it can be quoted. */
export function report(row: string, figures: string): void {
  process.stderr.write(`${row}: ${figures}\n`);
}
