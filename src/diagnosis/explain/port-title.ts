import type { FamilyPort } from '../../topology/decide/endpoint.ts';

/** A port as the title of its decision: `IPv4 TCP/http`. An unnamed port is `IPv4 TCP`. */
export function portTitle({ family, port }: FamilyPort): string {
  return `${family} ${port === '' ? 'no port' : port.replace(/\/$/, '')}`;
}
