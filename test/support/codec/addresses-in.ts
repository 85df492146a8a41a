/** The addresses 10.x.0.x in an object or a list, in any encoding. */
export function addressesIn(bytes: Buffer | string = ''): string[] {
  return bytes.toString('latin1').match(/10\.[0-9]\.0\.[0-9]+/g) ?? [];
}
