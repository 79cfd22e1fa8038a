import assert from "node:assert/strict";
import test from "node:test";
import { causes, sayBecause } from "../../../src/hushrank/web/modules/because.mjs";

const titleOf = (position) => `T${position}`;

test("causes are the ratings that moved an item up most", () => {
  assert.deepEqual(causes(new Map([[1, 0.1], [2, 0.5], [3, -1], [4, 0.4], [5, 0.45]])), [2, 5]);
  assert.deepEqual(causes(new Map([[1, 0.1], [2, 0.5]])), [2]);
  assert.deepEqual(causes(new Map([[3, -2], [4, 0]])), []);
  assert.deepEqual(causes(new Map([[3, -2], [4, 1.9]])), []); // it was recommended in spite of these
  assert.deepEqual(causes(new Map()), []);
});

test("sentences say what was liked, what was not, and what of an item is liked", () => {
  const ratings = new Map([[1, 5], [2, 1], [3, 3]]);
  const say = (positions, liked) => sayBecause(positions, liked, ratings, [1, 5], titleOf);
  assert.equal(say([1], []), "Because you liked T1.");
  assert.equal(say([2, 1], []), "Because you liked T1 and you did not like T2.");
  assert.equal(say([3], ["Comedy", "high year"]), "Because you gave a middling rating to T3 and you seem to like Comedy and high year.");
  assert.equal(say([], ["Comedy"]), "Because you seem to like Comedy.");
  assert.equal(say([], []), "");
  assert.equal(sayBecause([1], [], new Map([[1, 1]]), null, titleOf), "Because you have T1.");
});
