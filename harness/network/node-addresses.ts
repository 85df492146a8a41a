/** Numbers of simulated nodes on one machine: each has a /24 of 10.99.0.0/16 of its own. */
export const nodeNumbers: readonly number[] = Array.from({ length: 254 }, (_, index) => index + 1);

/** Address of the host's end of the veth of a node. */
export function gatewayAddress(number: number): string {
  return `10.99.${number}.1`;
}

/** Address of a node inside its namespace. */
export function nodeAddress(number: number): string {
  return `10.99.${number}.2`;
}

/** Host's ends of all possible nodes, for a certificate that is valid for each. */
export function gatewayAddresses(): string[] {
  return nodeNumbers.map(gatewayAddress);
}
