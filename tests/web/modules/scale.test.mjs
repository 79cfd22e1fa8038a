import assert from "node:assert/strict";
import test from "node:test";
import { opinion, sayScale, show, showPrediction, stepsOf } from "../../../src/hushrank/web/modules/scale.mjs";

test("few steps are buttons, others a field", () => {
  assert.deepEqual(stepsOf([1, 5]), [1, 2, 3, 4, 5]);
  assert.deepEqual(stepsOf([0, 10]).length, 11);
  assert.deepEqual(stepsOf([-2, 2]), [-2, -1, 0, 1, 2]);
  assert.deepEqual(stepsOf([0.5, 5]), [0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]);
  for (const range of [[0, 100], [1, 1.2], [0.25, 5.25], [1e300, 2e300], [0, 1e-300]]) assert.equal(stepsOf(range), null);
});

test("numbers have the digits that they need", () => {
  assert.deepEqual([show(4, [1, 5]), show(3.5, [1, 5]), show(10 / 3, [1, 5])], ["4", "3.5", "3.333"]);
  assert.deepEqual(stepsOf([10001, 10005]).map((step) => show(step, [10001, 10005])), ["10001", "10002", "10003", "10004", "10005"]);
  assert.equal(show(2.5e-30, [0, 1e-29]), "2.5e-30");
  assert.equal(show(1e-8, [1e-8, 1]), "1e-8");
  assert.equal(show(0, [0, 5]), "0");
  assert.equal(show(87.512, [0, 100]), "87.51");
  assert.equal(showPrediction(4.1249, [1, 5]), "4.12");
  assert.equal(showPrediction(41.26, [0, 100]), "41.3");
  assert.equal(showPrediction(0.00012345, [0, 0.001]), "0.000123");
  assert.equal(showPrediction(0.12345, null), "0.123");
  assert.equal(showPrediction(1.5e300, [1e300, 2e300]), "1.5e+300");
  assert.equal(showPrediction(5.2e-301, [0, 1e-300]), "5.200e-301");
});

test("how items are rated stands in words", () => {
  assert.equal(sayScale([0.5, 5]), "0.5 is worst, 5 is best. To take a rating back, press it again.");
  assert.equal(sayScale([0, 100]), "0 is worst, 100 is best. To take a rating back, empty its field.");
  assert.equal(sayScale(null), "Press what you have. To take it back, press it again.");
});

test("opinions are seen from the middle of the range", () => {
  assert.deepEqual([1, 2, 3, 4, 5].map((rating) => opinion(rating, [1, 5])), [-1, -1, 0, 1, 1]);
  assert.equal(opinion(1, null), 1);
});
