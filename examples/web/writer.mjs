// The story model: reads a text byte by byte and goes on with it, as examples/storylm0/page_writer.py does.
import load from "./story.mjs";

export const CAPACITY = 512; // tokens that the cache has room for
const NUMBERS = 64n; // random numbers of a token, by fours
const ARRAYS = { F32: Float32Array, I8: Int8Array };

/** The tensors of a safetensors file, by name. */
export function tensors(bytes) {
  const size = Number(new DataView(bytes).getBigUint64(0, true));
  const { __metadata__: _, ...entries } = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 8, size)));
  const read = ({ dtype, shape, data_offsets: [first, last] }) => ({
    dtype,
    shape,
    data: new ARRAYS[dtype](bytes.slice(8 + size + first, 8 + size + last)),
  });
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, read(entry)]));
}

/** `{"qkv.bytes": …}` as `{qkv: {bytes: …}}`, each tensor in the memory of the library. */
function nested(library, flat) {
  const made = {};
  for (const [name, { dtype, shape, data }] of Object.entries(flat)) {
    const path = name.split(".");
    const last = path.pop();
    const inner = path.reduce((record, part) => (record[part] ??= {}), made);
    inner[last] = library.resident(dtype, shape, data);
  }
  return made;
}

/** The same record with every tensor in the memory of the library. */
function resident(library, record) {
  if ("data" in record) return library.resident("F32", record.shape, record.data);
  return Object.fromEntries(Object.entries(record).map(([name, item]) => [name, resident(library, item)]));
}

export class Writer {
  #read = []; // the tokens whose keys and values are in the cache
  constructor(library, weights) {
    this.library = library;
    this.model = resident(library, library.unpack(nested(library, tensors(weights))));
    const shape = [2, 1, 4, CAPACITY, 16];
    this.cache = { keys: library.resident("F32", shape), values: library.resident("F32", shape) };
    this.places = [this.cache.keys, this.cache.values, null];
  }

  /** `weights` are the bytes of the file; `source` is where the library is, if not beside its module. */
  static async load(weights, source) {
    return new Writer(await load(source), weights);
  }

  #next(token, at, seed, number, temperature) {
    this.#read.length = at;
    const random = BigInt64Array.of(BigInt(seed), number);
    const words = [BigInt64Array.of(BigInt(token)), at, random, temperature];
    const [, chosen] = this.library.next(this.model, this.cache, ...words, { out: this.places });
    this.#read.push(token);
    return Number(chosen.data[0]);
  }

  /** The tokens after a prompt, one by one. What it begins with like the last one is not read again. */
  *write(prompt, size, seed, temperature) {
    if (prompt.length === 0 || prompt.length + size > CAPACITY) {
      throw new RangeError(`expected 1 byte at least, and ${CAPACITY} at most with what follows`);
    }
    const last = prompt.length - 1;
    let at = 0;
    while (at < last && this.#read[at] === prompt[at]) at++;
    for (; at < last; at++) this.#next(prompt[at], at, seed, 0n, temperature);
    let token = prompt[last];
    for (let number = 0; number < size; number++) {
      token = this.#next(token, last + number, seed, BigInt(number) * NUMBERS, temperature);
      yield token;
    }
  }
}
