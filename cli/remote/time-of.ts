/**
 * A time of an object, in milliseconds since the epoch; absent: 0. In JSON it is text (ISO 8601), whatever the types of
 * client-node say.
 */
export function timeOf(time: Date | undefined): number {
  return new Date(time ?? 0).getTime();
}
