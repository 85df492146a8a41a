/** `zone` for `topology.kubernetes.io/zone`. */
export function shortName(label: string): string {
  return label.slice(label.lastIndexOf('/') + 1);
}
