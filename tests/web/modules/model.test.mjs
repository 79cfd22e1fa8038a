import assert from "node:assert/strict";
import test from "node:test";
import { Model } from "../../../src/hushrank/web/modules/model.mjs";

const base64 = (array) => Buffer.from(array.buffer).toString("base64");

function small(options = {}) {
  return new Model({
    base: base64(Float32Array.of(0, 0.5, -0.25, 0.5)),
    columns: { precision: "int8", codes: base64(Int8Array.of(127, 0, -127, 127)), scales: [1 / 127] },
    range: [1, 5],
    ridge: 1,
    unobserved: 0,
    newItems: [],
    ...options,
  });
}

test("one column is solved by hand", () => {
  const model = small();
  const { z, residuals } = model.foldIn(new Map([[0, 5], [2, 1]]));
  // scaled ratings 1 and -1, residuals 1 and -.75: z = (1 + .75) / (1 + 1 + 1)
  assert.deepEqual([...residuals], [[0, 1], [2, -0.75]]);
  assert.ok(Math.abs(z[0] - 1.75 / 3) < 1e-15);
  const predicted = model.predict({ z });
  assert.ok(Math.abs(predicted[3] - (3 + 2 * (0.5 + 1.75 / 3))) < 1e-14);
});

test("without ratings predictions are the means", () => {
  assert.deepEqual([...small().predict(small().foldIn(new Map()))], [3, 4, 2.5, 4]);
});

test("the best come in falling order, equal ones in that of the items, without those seen", () => {
  const model = small();
  const predicted = Float64Array.of(3, 4, 2.5, 4);
  assert.deepEqual(model.best(predicted, new Map(), 3), [1, 3, 0]);
  assert.deepEqual(model.best(predicted, new Map([[1, 5]]), 10), [3, 0, 2]);
  assert.deepEqual(model.best(predicted, new Map([[0, 1], [1, 1], [2, 1], [3, 1]]), 2), []);
});

test("the best of many are those of a full sort", () => {
  const model = small();
  model.nItems = 5000;
  let seed = 3;
  const predicted = Float64Array.from({ length: 5000 }, () => (seed = (seed * 48271) % 2147483647) % 300);
  const sorted = [...predicted.keys()].sort((a, b) => predicted[b] - predicted[a] || a - b);
  for (const n of [1, 10, 500, 5000]) assert.deepEqual(model.best(predicted, new Map(), n), sorted.slice(0, n));
});

test("influences add up to the move of a prediction", () => {
  const model = small();
  const ratings = new Map([[0, 5], [2, 1], [3, 2]]);
  const fit = model.foldIn(ratings);
  const moves = model.influence(3, fit);
  const sum = [...moves.values()].reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - fit.z[0]) < 1e-14);
  assert.ok(moves.get(0) > 0 && moves.get(2) > 0 && moves.get(3) < 0);
});

test("beside a typical item, what moves all items alike moves none", () => {
  const model = small({ columns: { precision: "int8", codes: base64(Int8Array.of(1, 0, 1, 2, 1, 4, 1, -2)), scales: [1, 0.5] } });
  assert.deepEqual([...model.typical], [1, 0.5]);
  const fit = model.foldIn(new Map([[0, 1], [2, 4]]));
  const sum = (moves) => [...moves.values()].reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum(model.influence(3, fit, model.typical)) - fit.z[1] * (-1 - 0.5)) < 1e-14);
  assert.ok(Math.abs(sum(model.influence(3, fit)) - (fit.z[0] - fit.z[1])) < 1e-14);
  assert.equal(sum(model.influence(0, fit, Float64Array.of(1, 0))), 0);
});

test("ratings out of the range are clipped, predictions too", () => {
  const model = small();
  assert.equal(model.scaled(99), 1);
  assert.equal(model.scaled(-7), -1);
  assert.equal(model.clip(5.7), 5);
  assert.equal(model.clip(-2), 1);
});

test("implicit feedback: everything is 1, and what was not chosen counts as weak evidence, but not new items", () => {
  const model = small({ range: null, unobserved: 2, newItems: [3] });
  assert.equal(model.scaled(4), 1);
  // prior 1 + 2 (1 + 0 + 1), Gram 1: z = (1 - 0) / 6
  assert.ok(Math.abs(model.foldIn(new Map([[0, 1]])).z[0] - 1 / 6) < 1e-15);
  assert.equal(model.clip(7), 7);
});

test("a system that cannot be solved gives the means", () => {
  const model = small({ ridge: 0 });
  const fit = model.foldIn(new Map([[1, 5]]));
  assert.equal(fit.L, null);
  assert.deepEqual([...model.predict(fit)], [3, 4, 2.5, 4]);
  assert.equal(model.influence(0, fit).size, 0);
});
