import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex');
/** Bytes of a pixel in a screenshot: red, green, blue and, depending on the format, alpha. */
const CHANNELS: Readonly<Record<number, number>> = { 2: 3, 6: 4 };
const MAX_COLOURS = 256;
/** So many colours are kept in any case, among them the grounds, which differ little. */
const GROUNDS = 24;
/** Colours are similar if they have the same first 4 bits of red, green and blue. */
const SIMILAR = 0xf0f0f0;

/**
 * Makes a screenshot smaller: with a palette of up to 256 colours. Other colours, such as the edges of letters,
 * become the nearest of these. See the PNG specification, https://www.w3.org/TR/png-3/.
 */
export function compressPng(png: Buffer): Buffer {
  const chunks = readChunks(png);
  const head = chunks.find(({ type }) => type === 'IHDR')?.data ?? Buffer.alloc(13);
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)];
  const channels = CHANNELS[head[9] ?? 0];
  if (channels === undefined) throw new Error(`unexpected colour type ${head[9]}`);
  const data = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map((each) => each.data));
  const pixels = readPixels(inflateSync(data), width, height, channels);
  const palette = frequentColours(pixels);
  const indexOf = nearestIn(palette);
  const rows = Buffer.alloc(height * (width + 1));
  for (const [at, colour] of pixels.entries()) {
    rows[at + Math.floor(at / width) + 1] = indexOf(colour);
  }
  const newHead = Buffer.from(head);
  newHead[9] = 3;
  return Buffer.concat([
    SIGNATURE,
    writeChunk('IHDR', newHead),
    writeChunk('PLTE', Buffer.from(palette.flatMap(partsOf))),
    writeChunk('IDAT', deflateSync(rows, { level: 9 })),
    writeChunk('IEND', Buffer.alloc(0)),
  ]);
}

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

function readChunks(png: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString('latin1', at + 4, at + 8);
    chunks.push({ type, data: png.subarray(at + 8, at + 8 + length) });
    at += length + 12;
  }
  return chunks;
}

function writeChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const chunk = Buffer.alloc(body.length + 8);
  chunk.writeUInt32BE(data.length, 0);
  body.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(body), body.length + 4);
  return chunk;
}

/** Undoes the filters of the rows. Returns each pixel as 0xrrggbb. */
function readPixels(raw: Buffer, width: number, height: number, channels: number): Uint32Array {
  const stride = width * channels;
  const pixels = new Uint32Array(width * height);
  let before: Uint8Array = new Uint8Array(stride);
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1);
    const row = unfilter(raw[start] ?? 0, raw.subarray(start + 1), before, channels);
    for (let x = 0; x < width; x++) {
      const at = x * channels;
      pixels[y * width + x] =
        ((row[at] ?? 0) << 16) | ((row[at + 1] ?? 0) << 8) | (row[at + 2] ?? 0);
    }
    before = row;
  }
  return pixels;
}

function unfilter(filter: number, raw: Buffer, above: Uint8Array, channels: number): Uint8Array {
  const row = new Uint8Array(above.length);
  for (let at = 0; at < row.length; at++) {
    const left = row[at - channels] ?? 0;
    const up = above[at] ?? 0;
    const corner = above[at - channels] ?? 0;
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
    row[at] = (raw[at] ?? 0) + guess;
  }
  return row;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [left, up, corner].map((each) => Math.abs(guess - each)) as [
    number,
    number,
    number,
  ];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

/** The most frequent colours. Of the others only one of each similar group, so that rare but different ones have room. */
function frequentColours(pixels: Uint32Array): number[] {
  const counts = new Map<number, number>();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  const palette: number[] = [];
  const groups = new Set<number>();
  for (const [colour] of sorted) {
    if (palette.length >= GROUNDS && groups.has(colour & SIMILAR)) continue;
    groups.add(colour & SIMILAR);
    palette.push(colour);
  }
  return palette.slice(0, MAX_COLOURS);
}

function partsOf(colour: number): [number, number, number] {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

/** The index of the nearest colour of a palette. */
function nearestIn(palette: readonly number[]): (colour: number) => number {
  const known = new Map(palette.map((colour, index) => [colour, index]));
  const parts = palette.map(partsOf);
  return (colour) => {
    const found = known.get(colour);
    if (found !== undefined) return found;
    const [red, green, blue] = partsOf(colour);
    const distances = parts.map(([r, g, b]) => (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2);
    const index = distances.indexOf(Math.min(...distances));
    known.set(colour, index);
    return index;
  };
}
