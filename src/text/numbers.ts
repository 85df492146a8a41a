/** A number with thousands separators: `10,000`. */
export function formatNumber(value: number): string {
  return value.toLocaleString('en');
}

/** `3 min`, from a number of seconds. */
export function formatAge(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** How long ago an ISO time was: `3 min`. */
export function formatSince(time: string): string {
  return formatAge(Math.max(0, (Date.now() - Date.parse(time)) / 1000));
}

/** `1 client`, `2 clients`. */
export function plural(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}
