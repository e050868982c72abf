// Blocks of data in the page, as userspace/output/html_block.c writes them.

export interface Block<Head> {
  head: Head;
  /** The numbers of a column; empty when the block has none of that name. */
  column(name: string): Float64Array;
  bytes(name: string): Uint8Array;
}

interface ColumnHead {
  columns: Record<string, [coding: "u" | "d" | "b", offset: number, count: number]>;
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

export async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** LEB128 numbers beyond 2^31 need more than bit operations. */
export function decodeColumn(bytes: Uint8Array, offset: number, count: number, delta: boolean): Float64Array {
  const out = new Float64Array(count);
  let at = offset;
  let last = 0;
  for (let i = 0; i < count; i++) {
    let byte = bytes[at++];
    let value = byte & 0x7f;
    let scale = 128;
    while (byte & 0x80) {
      byte = bytes[at++];
      value += (byte & 0x7f) * scale;
      scale *= 128;
    }
    if (delta) {
      const half = Math.floor(value / 2);
      last += value % 2 === 1 ? -half - 1 : half;
      value = last;
    }
    out[i] = value;
  }
  return out;
}

export function readBlock<Head>(raw: Uint8Array): Block<Head> {
  const size = new DataView(raw.buffer, raw.byteOffset).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(raw.subarray(4, 4 + size))) as Head & ColumnHead;
  const data = raw.subarray(4 + size);
  return {
    head,
    column(name) {
      const entry = Object.hasOwn(head.columns, name) ? head.columns[name] : undefined;
      if (!entry) return new Float64Array(0);
      const [coding, offset, count] = entry;
      if (coding === "b") return Float64Array.from(data.subarray(offset, offset + count));
      return decodeColumn(data, offset, count, coding === "d");
    },
    bytes(name) {
      const entry = Object.hasOwn(head.columns, name) ? head.columns[name] : undefined;
      return entry?.[0] === "b" ? data.subarray(entry[1], entry[1] + entry[2]) : new Uint8Array(0);
    },
  };
}

/** Takes the block out of the document, so that its text does not stay in memory. */
export async function loadBlock<Head>(name: string): Promise<Block<Head>> {
  const element = document.getElementById(`data-${name}`);
  if (!element) throw new Error(`the page lacks its data (${name}); was it cut?`);
  const text = element.textContent ?? "";
  element.remove();
  return readBlock(await inflate(fromBase64(text)));
}
