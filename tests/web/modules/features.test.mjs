import assert from "node:assert/strict";
import test from "node:test";
import { Features } from "../../../src/hushrank/web/modules/features.mjs";

const floats = (...values) => Buffer.from(Float32Array.of(...values).buffer).toString("base64");
const integers = (...values) => Buffer.from(Uint16Array.of(...values).buffer).toString("base64");

const DATA = {
  names: ["Comedy", "Drama", "year", "year squared", "length"],
  kinds: ["word", "word", "number", "square", "number"],
  typical: [0.25, 0.5, 0, 0, 0],
  counts: integers(2, 1, 0),
  words: integers(0, 1, 1),
  values: null,
  numbers: [
    { column: 2, values: floats(2, -3, 0) },
    { column: 3, values: floats(1, 4, -1) },
    { column: 4, values: floats(-1, 1, 0) },
  ],
  along: floats(1, 0, 0, 1, 0, 0, 0, 0, 0, 0),
  firstSlope: 1,
  nSlopes: 2,
};

test("slopes on features are sums along the person's coefficients", () => {
  const features = new Features({ ...DATA, along: floats(1, 2, 0, 1, 0, 0, -1, 0, 0, 3) }, 3);
  assert.deepEqual([...features.slopes(Float64Array.of(9, 2, 0.5, 9))], [3, 0.5, 0, -2, 1.5]);
});

test("words and numbers that speak for an item, the most important first", () => {
  const features = new Features(DATA, 3);
  assert.deepEqual(features.reasons(0, [1, 1, 0, 0, 0]), ["Comedy", "Drama"]);
  assert.deepEqual(features.reasons(0, [1, 0.1, 0, 0, 0]), ["Comedy"]);
  assert.deepEqual(features.reasons(0, [-1, -1, 0, 0, 0]), []);
  assert.deepEqual(features.reasons(1, [1, 1, 1, 0, 2]), ["high length", "Drama"].slice(0, 1));
  assert.deepEqual(features.reasons(1, [0, 0, -1, 0, 0]), ["low year"]);
  assert.deepEqual(features.reasons(1, [0, 0, 0, 1, 0]), ["low year"]);
  assert.deepEqual(features.reasons(2, [0, 0, 0, -1, 0]), ["typical year"]);
  assert.deepEqual(features.reasons(2, null), []);
});

test("words may be there in part", () => {
  const features = new Features({ ...DATA, values: floats(0.375, 1, 1) }, 3);
  assert.deepEqual(features.reasons(0, [1, 1, 0, 0, 0]), ["Drama"]);
});

test("tags are the words of an item", () => {
  const features = new Features(DATA, 3);
  assert.deepEqual([0, 1, 2].map((position) => features.tags(position)), [["Comedy", "Drama"], ["Drama"], []]);
});

test("a model without features has no tags and no reasons", () => {
  const features = new Features(null, 2);
  assert.deepEqual(features.tags(1), []);
  assert.equal(features.slopes(Float64Array.of(1)), null);
  const useless = new Features({ ...DATA, nSlopes: 0, along: "" }, 3);
  assert.equal(useless.slopes(Float64Array.of(1)), null);
  assert.deepEqual(useless.tags(0), ["Comedy", "Drama"]);
});
