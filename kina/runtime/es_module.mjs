/* ---- What is the same in every module ---- */

/** The shape or a size of an argument is wrong, or a call does not take these sizes. */
export class KinaValueError extends RangeError {}
/** An argument is no tensor, or of another dtype. */
export class KinaTypeError extends TypeError {}
/** An index is out of range: the place in the program, and its line. Outputs are as they were. */
export class KinaIndexError extends RangeError {}
/** There is no memory for an argument, a result or a temporary. */
export class KinaMemoryError extends RangeError {}

const ARRAYS = {
  F32: Float32Array, F16: Uint16Array, BF16: Uint16Array, F8E4M3: Uint8Array, F8E5M2: Uint8Array,
  I64: BigInt64Array, I32: Int32Array, I16: Int16Array, I8: Int8Array, I4: Int8Array, Bool: Uint8Array,
};
const MOST = 2 ** 32;

const shown = (shape) => `[${shape.join(", ")}]`;
const elements = (shape) => shape.reduce((product, size) => product * size, 1);

/** An array with a shape, row-major. */
export class Tensor {
  constructor(data, shape = [data.length]) {
    if (!ArrayBuffer.isView(data) || data instanceof DataView) {
      throw new KinaTypeError("Tensor: the data is no typed array");
    }
    checkShape("Tensor", shape);
    if (elements(shape) !== data.length) {
      const count = `${data.length} element${data.length === 1 ? "" : "s"}`;
      throw new KinaValueError(`Tensor: ${count} are no tensor of shape ${shown(shape)}`);
    }
    this.data = data;
    this.shape = [...shape];
  }
}

function checkShape(who, shape) {
  const fine = (size) => Number.isInteger(size) && size >= 0 && size < MOST;
  if (!Array.isArray(shape) || !shape.every(fine)) {
    throw new KinaValueError(`${who}: a shape is an array of integers from 0 on, got ${String(shape)}`);
  }
}

/** A tensor in the memory of the library: as an argument nothing of it is copied. */
export class Resident {
  #memory;
  #address;
  #kind;
  constructor(memory, kind, shape) {
    this.#memory = memory;
    this.#kind = kind;
    this.shape = [...shape];
    this.#address = memory.take(elements(shape) * kind.BYTES_PER_ELEMENT);
    memory.watched.register(this, this.#address, this);
  }
  /** The elements; a view of this moment, which memory that grows makes invalid. */
  get data() {
    return new this.#kind(this.#memory.buffer, this.address, elements(this.shape));
  }
  get address() {
    if (this.#address === 0) throw new KinaValueError("this tensor was freed");
    return this.#address;
  }
  /** Whether it lies in the memory of this library. */
  isOf(memory) {
    return this.#memory === memory;
  }
  /** Give the memory back now, rather than when nobody holds the tensor any more. */
  free() {
    if (this.#address === 0) return;
    this.#memory.watched.unregister(this);
    this.#memory.give(this.#address);
    this.#address = 0;
  }
}

class Memory {
  constructor(exports) {
    this.exports = exports;
    this.watched = new FinalizationRegistry((address) => this.give(address));
  }
  get buffer() {
    return this.exports.memory.buffer;
  }
  take(bytes) {
    const address = this.exports.malloc(BigInt(bytes)) >>> 0;
    if (address === 0) throw new KinaMemoryError(`out of memory: ${bytes} bytes are not there`);
    return address;
  }
  give(address) {
    this.exports.free(address);
  }
}

/** What of the memory is the call's own; given back in the end. */
class Call {
  #taken = [];
  constructor(memory) {
    this.memory = memory;
  }
  take(bytes) {
    const address = this.memory.take(bytes);
    this.#taken.push(address);
    return address;
  }
  end() {
    for (const address of this.#taken) this.memory.give(address);
  }
}

/** A dimension: a number, a symbol, or terms [coefficient, symbols]. */
function evaluate(dim, sizes) {
  if (typeof dim === "number") return dim;
  if (typeof dim === "string") return sizes.get(dim);
  const term = ([count, symbols]) => symbols.reduce((product, symbol) => product * sizes.get(symbol), count);
  return dim.reduce((sum, each) => sum + term(each), 0);
}

function typed(type) {
  return `tensor<${type.dtype}, [${type.shown}]>`;
}

class Signature {
  constructor(described) {
    Object.assign(this, described);
  }

  /** The arguments one by one, those of records in the order of their fields. */
  *flat(given) {
    if (given.length !== this.parameters.length) {
      const names = this.parameters.map((each) => each.name).join(", ");
      const wanted = this.parameters.length;
      throw new KinaTypeError(`${this.name}: got ${given.length} arguments, expected ${wanted}: ${names}`);
    }
    for (const [number, parameter] of this.parameters.entries()) {
      yield* this.leaves(parameter, parameter.name, given[number]);
    }
  }

  *leaves(parameter, name, value) {
    if (!parameter.fields) {
      yield [parameter, name, value];
      return;
    }
    if (typeof value !== "object" || value === null) {
      const fields = parameter.fields.map((field) => field.name).join(", ");
      throw new KinaTypeError(`${this.name}: ${name}: expected an object with the fields ${fields}`);
    }
    for (const field of parameter.fields) {
      const full = `${name}.${field.name}`;
      if (!(field.name in value)) throw new KinaTypeError(`${this.name}: ${full} is missing`);
      yield* this.leaves(field, full, value[field.name]);
    }
  }

  /** A size that a caller passes. */
  size(name, value) {
    if (typeof value !== "bigint" && !Number.isInteger(value)) {
      throw new KinaTypeError(`${this.name}: ${name} is a size: expected an integer, got ${String(value)}`);
    }
    if (value < 0 || value >= MOST) {
      throw new KinaValueError(`${this.name}: ${name} is a size of 0 to ${MOST - 1}, got ${value}`);
    }
    return Number(value);
  }

  /** An argument as a tensor of the dtype and rank of its type. */
  tensor(type, name, value, memory) {
    const place = `${this.name}: ${name}`;
    if (value instanceof Resident && !value.isOf(memory)) {
      throw new KinaValueError(`${place} lies in the memory of another library`);
    }
    const found = this.shaped(type, value);
    if (found === undefined) {
      throw new KinaTypeError(`${place}: expected ${typed(type)} (a Tensor or a ${ARRAYS[type.dtype].name})`);
    }
    if (!(found.data instanceof ARRAYS[type.dtype])) {
      const came = found.data.constructor.name;
      const wanted = `${ARRAYS[type.dtype].name} for ${typed(type)}`;
      throw new KinaTypeError(`${place} is a ${came}, expected a ${wanted}`);
    }
    if (found.shape.length !== type.dims.length) {
      throw new KinaValueError(`${place} has shape ${shown(found.shape)}, expected ${typed(type)}`);
    }
    if (type.dtype === "Bool" && found.data.some((bit) => bit > 1)) {
      throw new KinaValueError(`${place}: a Bool is 0 or 1`);
    }
    if (type.dtype === "I4" && found.data.some((item) => item < -8 || item > 7)) {
      throw new KinaValueError(`${place}: an I4 is -8 to 7`);
    }
    return found;
  }

  /** A bare array will do where its length says the shape, and a number for rank 0. */
  shaped(type, value) {
    const kind = ARRAYS[type.dtype];
    if (value instanceof Tensor || value instanceof Resident) return value;
    if (typeof value === "number" || typeof value === "bigint") {
      if (type.dims.length !== 0) return undefined;
      const wide = kind === BigInt64Array;
      if (wide && typeof value === "number" && !Number.isSafeInteger(value)) return undefined;
      if (!wide && typeof value === "bigint") return undefined;
      if (!wide && type.dtype[0] !== "F" && !Number.isInteger(value)) return undefined;
      if (type.dtype !== "F32" && kind !== BigInt64Array && kind.of(value)[0] !== value) return undefined;
      return new Tensor(kind.of(wide ? BigInt(value) : value), []);
    }
    if (!ArrayBuffer.isView(value) || value instanceof DataView) return undefined;
    const known = type.dims.every((dim) => typeof dim === "number");
    if (known && elements(type.dims) === value.length) return new Tensor(value, type.dims);
    return new Tensor(value);
  }

  /** Match each size of a tensor with its type's. */
  bind(type, name, shape, sizes) {
    for (const [axis, dim] of type.dims.entries()) {
      if (typeof dim === "string" && !sizes.has(dim)) sizes.set(dim, shape[axis]);
      if (Array.isArray(dim)) continue; // computed: checked when all symbols are known
      const wanted = evaluate(dim, sizes);
      if (shape[axis] !== wanted) this.misfit(type, name, shape, dim, wanted);
    }
  }

  checkComputed(type, name, shape, sizes) {
    for (const [axis, dim] of type.dims.entries()) {
      const wanted = evaluate(dim, sizes);
      if (shape[axis] !== wanted) this.misfit(type, name, shape, dim, wanted);
    }
  }

  misfit(type, name, shape, dim, wanted) {
    const because = typeof dim === "string" ? `, ${dim} is ${wanted}` : "";
    throw new KinaValueError(`${this.name}: ${name} has shape ${shown(shape)}, expected ${typed(type)}${because}`);
  }

  /** Raise what a status stands for. */
  check(status) {
    if (status === 0) return;
    if (status === -1) throw new KinaMemoryError(`${this.name}: out of memory`);
    if (status === -2) throw new KinaValueError(`${this.name}: ${this.requirements}`);
    throw new KinaIndexError(this.messages[status - 1]);
  }

  call(memory, given) {
    const [values, places] = this.placed(given);
    const sizes = new Map();
    const tensors = [];
    for (const [type, name, value] of this.flat(values)) {
      if (type.size) sizes.set(type.size, this.size(name, value));
      else tensors.push([type, name, this.tensor(type, name, value, memory)]);
    }
    for (const [type, name, tensor] of tensors) this.bind(type, name, tensor.shape, sizes);
    for (const [type, name, tensor] of tensors) this.checkComputed(type, name, tensor.shape, sizes);
    const call = new Call(memory);
    try {
      return this.run(call, sizes, tensors, places);
    } finally {
      call.end();
    }
  }

  /** The arguments, and where each result goes: a resident tensor, or null for a new one. */
  placed(given) {
    const count = this.parameters.length;
    const last = given[count];
    if (given.length !== count + 1 || typeof last !== "object" || last === null || !("out" in last)) {
      return [given, this.results.map(() => null)];
    }
    const out = Array.isArray(last.out) ? last.out : [last.out];
    if (out.length !== this.results.length) {
      throw new KinaValueError(`${this.name}: out has ${out.length} items, expected ${this.results.length}`);
    }
    return [given.slice(0, count), out];
  }

  run(call, sizes, tensors, places) {
    const inputs = tensors.map(([, , tensor]) => this.copied(call, tensor));
    const shapes = this.results.map((type) => this.resultShape(type, sizes));
    const outputs = this.results.map((type, number) => this.output(call, type, number, shapes[number], places[number]));
    this.checkOverlap(tensors, places);
    const symbols = this.symbols.map((symbol) => BigInt(sizes.get(symbol)));
    this.check(call.memory.exports[this.symbol](...symbols, ...inputs, ...outputs));
    const read = (type, number) => {
      if (places[number]) return places[number];
      const data = new ARRAYS[type.dtype](call.memory.buffer, outputs[number], elements(shapes[number]));
      return new Tensor(data.slice(), shapes[number]);
    };
    const made = this.results.map(read)[Symbol.iterator]();
    return assemble(this.result, made);
  }

  copied(call, tensor) {
    if (tensor instanceof Resident) return tensor.address;
    const { data } = tensor;
    const address = call.take(data.byteLength);
    new data.constructor(call.memory.buffer, address, data.length).set(data);
    return address;
  }

  resultShape(type, sizes) {
    const shape = type.dims.map((dim) => evaluate(dim, sizes));
    if (shape.some((size) => size < 0)) {
      throw new KinaValueError(`${this.name}: a result of shape ${shown(shape)} is impossible`);
    }
    return shape;
  }

  output(call, type, number, shape, place) {
    if (place === null) return call.take(elements(shape) * ARRAYS[type.dtype].BYTES_PER_ELEMENT);
    const name = `${this.name}: out${this.results.length > 1 ? `[${number}]` : ""}`;
    if (!(place instanceof Resident) || !place.isOf(call.memory)) {
      throw new KinaTypeError(`${name}: expected a resident tensor of this library, or null`);
    }
    if (!(place.data instanceof ARRAYS[type.dtype])) {
      throw new KinaTypeError(`${name} holds a ${place.data.constructor.name}, expected ${typed(type)}`);
    }
    if (shown(place.shape) !== shown(shape)) {
      throw new KinaValueError(`${name} has shape ${shown(place.shape)}, the result has ${shown(shape)}`);
    }
    return place.address;
  }

  /** An output is no input and no other output, but where the function allows it. */
  checkOverlap(tensors, places) {
    for (const [number, place] of places.entries()) {
      if (place === null) continue;
      if (places.indexOf(place) !== number) throw new KinaValueError(`${this.name}: two outputs are one tensor`);
      for (const [index, [, name, tensor]] of tensors.entries()) {
        const allowed = this.aliases.some(([from, to]) => from === index && to === number);
        if (tensor === place && !allowed) throw new KinaValueError(`${this.name}: an output is the input ${name}`);
      }
    }
  }
}

function assemble(result, made) {
  if (Array.isArray(result)) return result.map((item) => assemble(item, made));
  if (result === null) return made.next().value;
  return Object.fromEntries(Object.entries(result).map(([name, item]) => [name, assemble(item, made)]));
}

async function bytesOf(url) {
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  return answer.arrayBuffer();
}

async function moduleOf(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  return WebAssembly.compile(await bytesOf(new URL(source, import.meta.url)));
}

/** Load the library: its functions as methods, and `resident` for tensors in its memory. */
export default async function load(source = LIBRARY) {
  const instance = await WebAssembly.instantiate(await moduleOf(source), {});
  const memory = new Memory(instance.exports);
  const loaded = {
    resident(dtype, shape, data) {
      const kind = Object.hasOwn(ARRAYS, dtype) ? ARRAYS[dtype] : undefined;
      if (kind === undefined) throw new KinaTypeError(`resident: unknown dtype ${String(dtype)}`);
      checkShape("resident", shape);
      if (data !== undefined && !(data instanceof kind)) throw new KinaTypeError(`resident: expected a ${kind.name}`);
      if (data !== undefined && data.length !== elements(shape)) {
        throw new KinaValueError(`resident: ${data.length} elements are no tensor of shape ${shown(shape)}`);
      }
      const made = new Resident(memory, kind, shape);
      if (data === undefined) made.data.fill(kind === BigInt64Array ? 0n : 0);
      else made.data.set(data);
      return made;
    },
  };
  for (const described of FUNCTIONS) {
    const signature = new Signature(described);
    loaded[signature.name] = (...given) => signature.call(memory, given);
  }
  return loaded;
}
