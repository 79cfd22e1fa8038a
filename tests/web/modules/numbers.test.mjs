import assert from "node:assert/strict";
import test from "node:test";
import { bytesOf, columnsOf, float16, float32s, uint16s } from "../../../src/hushrank/web/modules/numbers.mjs";

const base64 = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

test("bytes of every value come back", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  assert.deepEqual(bytesOf(base64(bytes)), bytes);
  assert.equal(bytesOf("").length, 0);
});

test("numbers are those that were written", () => {
  const floats = Float32Array.of(0, -1.5, 3.4e38, 1e-45, 0.1);
  assert.deepEqual([...float32s(base64(floats))], [...floats]);
  assert.deepEqual([...uint16s(base64(Uint16Array.of(0, 7, 65535)))], [0, 7, 65535]);
});

test("half-precision numbers of every kind", () => {
  const known = [[0x0000, 0], [0x3c00, 1], [0xc000, -2], [0x7bff, 65504], [0x0001, 2 ** -24], [0x0400, 2 ** -14],
    [0x3555, 0.333251953125], [0x7c00, Infinity], [0xfc00, -Infinity]];
  for (const [bits, value] of known) assert.equal(float16(bits), value);
  assert.ok(Object.is(float16(0x8000), -0));
  assert.ok(Number.isNaN(float16(0x7e00)));
});

test("columns are codes times scales", () => {
  const whole = { precision: "int8", codes: base64(Int8Array.of(127, -127, 0, 64)), scales: [0.5, 2] };
  assert.deepEqual([...columnsOf(whole)], [63.5, -254, 0, 128]);
  const half = { precision: "float16", codes: base64(Uint16Array.of(0x3c00, 0xc000)), scales: [3] };
  assert.deepEqual([...columnsOf(half)], [3, -6]);
});
