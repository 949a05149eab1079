// Calls every function of the module and shows what came of it: run by test_es_module.py.
import load, * as kina from "./calls.mjs";

const lines = [];
const plain = (value) => {
  if (typeof value === "bigint") return `${value}n`;
  if (ArrayBuffer.isView(value)) return [value.constructor.name, ...Array.from(value, plain)];
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof kina.Tensor) return { tensor: plain(value.data), shape: value.shape };
  if (value instanceof kina.Resident) return { resident: plain(value.data), shape: value.shape };
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item)]));
};
function show(name, compute) {
  let found;
  try {
    found = plain(compute());
  } catch (error) {
    found = { error: error.constructor.name, message: error.message };
  }
  lines.push([name, found]);
}

const m = await load();
const { Tensor } = kina;
const f32 = (...items) => Float32Array.from(items);
const i64 = (...items) => BigInt64Array.from(items, BigInt);

show("record", () => m.scaled({ a: f32(1, 2), b: f32(3, 4) }, 10));
show("size", () => m.window(new Tensor(Int32Array.of(1, 2, 3, 4, 5, 6), [3, 2]), 2));
show("computed", () => m.joined(i64(1, 2), i64(3)));
show("scalar", () => m.put(f32(1, 2, 3), f32(9), 1n));
show("bool", () => m.then_(Uint8Array.of(1, 0, 1)));
show("halves", () => m.halves(Uint16Array.of(0x3c00, 0x4000)));
show("nothing", () => m.joined(i64(), i64()));

const row = m.resident("F32", [3], f32(5, 6, 7));
show("in place", () => [m.put(row, f32(0.5), 2, { out: row }), row.data[2]]);
row.free();
show("freed", () => m.put(row, f32(1), 0));
const other = (await load()).resident("F32", [3]);
show("of another library", () => m.put(other, f32(1), 0));

show("a bad index", () => m.put(f32(1, 2, 3), f32(9), 3));
show("an empty axis", () => m.best(new Tensor(f32(), [2, 0])));
show("another dtype", () => m.put(new Float64Array(3), f32(9), 0));
show("another rank", () => m.best(f32(1, 2)));
show("a size that contradicts", () => m.scaled({ a: f32(1, 2), b: f32(3) }, 1));
show("a field that is missing", () => m.scaled({ a: f32(1) }, 1));
show("no record", () => m.scaled(1, 1));
show("too few", () => m.put(f32(1)));
show("too many", () => m.put(f32(1), f32(1), 0, 0));
show("too many, and places", () => m.put(f32(1), f32(1), 0, 0, { out: null }));
show("no tensor", () => m.put([1, 2], f32(1), 0));
show("no size", () => m.window(new Tensor(Int32Array.of(1, 2), [1, 2]), 1.5));
show("a size below 0", () => m.window(new Tensor(Int32Array.of(1, 2), [1, 2]), -1));
show("no integer", () => m.put(f32(1), f32(1), 0.5));
show("a stray Bool", () => m.then_(Uint8Array.of(2)));
show("a wrong shape", () => new Tensor(f32(1, 2), [3]));
show("an output of another shape", () => m.put(f32(1), f32(1), 0, { out: m.resident("F32", [2]) }));
show("an output that is no input's", () => {
  const x = m.resident("F32", [2, 2]);
  return m.doubled(x, { out: x });
});
show("too large", () => m.resident("F32", [2 ** 31, 4]));

// Nothing of a call stays in the memory of the library, whether it fails or not.
const grown = () => m.resident("I8", [1]).address;
const before = grown();
for (let i = 0; i < 2000; i++) {
  m.best(new Tensor(new Float32Array(20000), [2, 10000]));
  try {
    m.put(new Float32Array(10000), f32(1), 10000);
  } catch {}
}
show("what a call leaves", () => Math.abs(grown() - before) < 1000);
console.log(JSON.stringify(lines));
