import { ProtobufCodec } from '../../../src/filter/codec/protobuf/protobuf-codec.ts';
import type { View } from '../../../src/filter/view/view.ts';
import { addressesIn } from '../codec/addresses-in.ts';

const codec = new ProtobufCodec();

/** Events in the log of a view in protobuf from a position on, as `TYPE name address`; addresses are 10.0.0.0 to .9. */
export function eventsSince({ log }: View, position: number): string[] {
  return Array.from({ length: log.end - position }, (_, index) => {
    const { type = '', object = Buffer.alloc(0) } = log.at(position + index) ?? {};
    const addresses = addressesIn(object);
    return [type, codec.meta(object).name, ...addresses].join(' ');
  });
}
