import assert from "node:assert/strict";
import test from "node:test";
import { normalize, Search } from "../../../src/hushrank/web/modules/search.mjs";

const TITLES = ["Amélie", "The Third Man", "Third Star", "Manhattan", "A Man and a Woman", "東京物語", "the  third\tman"];

test("texts are compared without accents, case and spaces", () => {
  assert.equal(normalize("  AMÉLIE  Poulain "), "amelie poulain");
  assert.equal(normalize("ﬁlm"), "film");
});

test("all words of a query in any order, better matches first", () => {
  const search = new Search(TITLES, []);
  assert.deepEqual(search.find("amelie", 5), [0]);
  assert.deepEqual(search.find("man third", 5), [1, 6]);
  assert.deepEqual(search.find("third", 5), [2, 1, 6]);
  assert.deepEqual(search.find("man", 9), [3, 1, 4, 6]);
  assert.deepEqual(search.find("京", 5), [5]);
  assert.deepEqual(search.find("zebra", 5), []);
  assert.deepEqual(search.find("   ", 5), []);
});

test("well-known items first among equally good ones, and no more than asked for", () => {
  const search = new Search(TITLES, [6, 1]);
  assert.deepEqual(search.find("man third", 5), [6, 1]);
  assert.deepEqual(search.find("man third", 1), [6]);
});

test("signs of patterns mean themselves", () => {
  const search = new Search(["What? (2)", "a.b*c[d]", "\\"], []);
  assert.deepEqual(search.find("? (2)", 3), [0]);
  assert.deepEqual(search.find(".b*c[", 3), [1]);
  assert.deepEqual(search.find("\\", 3), [2]);
});
