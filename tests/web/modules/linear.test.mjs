import assert from "node:assert/strict";
import test from "node:test";
import { addOuter, factorize, solve } from "../../../src/hushrank/web/modules/linear.mjs";

function near(found, expected, tolerance = 1e-12) {
  assert.equal(found.length, expected.length);
  found.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) <= tolerance, `${value} is not ${expected[i]}`));
}

test("a system of three equations", () => {
  const A = Float64Array.of(4, NaN, NaN, 2, 5, NaN, 0, 1, 3); // only the lower triangle is read
  const L = factorize(A, 3);
  near([...solve(L, 3, [8, 18, 11])], expected());
});

function expected() {
  // 4x + 2y = 8, 2x + 5y + z = 18, y + 3z = 11
  const y = (18 - 4 - 11 / 3) / (5 - 1 - 1 / 3);
  return [(8 - 2 * y) / 4, y, (11 - y) / 3];
}

test("outer products add up to the Gram matrix", () => {
  const W = Float64Array.of(1, 2, 3, -1, 0.5, 4);
  const A = new Float64Array(9);
  addOuter(A, W, 0, 3);
  addOuter(A, W, 3, 3, 2);
  assert.deepEqual([A[0], A[3], A[4], A[6], A[7], A[8]], [3, 1, 4.5, -5, 10, 41]);
});

test("what is not positive definite is not solved", () => {
  assert.equal(factorize(Float64Array.of(1, 0, 2, 1), 2), null);
  assert.equal(factorize(Float64Array.of(0), 1), null);
  assert.equal(factorize(Float64Array.of(NaN), 1), null);
  assert.equal(factorize(new Float64Array(0), 0).length, 0);
});

test("random systems are solved", () => {
  let seed = 1;
  const next = () => (seed = (seed * 48271) % 2147483647) / 2147483647 - 0.5;
  for (const width of [1, 2, 7, 33]) {
    const W = Float64Array.from({ length: 2 * width * width }, next);
    const A = new Float64Array(width * width);
    for (let row = 0; row < 2 * width; row++) addOuter(A, W, row * width, width);
    const z = Float64Array.from({ length: width }, next);
    const full = (a, b) => (a >= b ? A[a * width + b] : A[b * width + a]);
    const x = z.map((_, a) => z.reduce((sum, value, b) => sum + full(a, b) * value, 0));
    near([...solve(factorize(A, width), width, x)], [...z], 1e-8);
  }
});
