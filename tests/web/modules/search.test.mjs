import assert from "node:assert/strict";
import test from "node:test";
import { normalize, plain, Search } from "../../../src/hushrank/web/modules/search.mjs";

const NOTHING = { names: [], hasOneOf: () => false };
const TITLES = ["Amélie", "The Third Man", "Third Star", "Manhattan", "A Man and a Woman", "東京物語", "the  third\tman"];

test("texts are compared without accents, case and spaces", () => {
  assert.equal(normalize("  AMÉLIE  Poulain "), "amelie poulain");
  assert.equal(normalize("ﬁlm"), "film");
});

test("signs that turn the direction of texts are left out", () => {
  assert.equal(plain("a\u202eb\u2067c\u2069\u05d0"), "abc\u05d0");
});

test("all words of a query in any order, better matches first", () => {
  const search = new Search(TITLES, [], NOTHING);
  assert.deepEqual(search.find("amelie", 5), [0]);
  assert.deepEqual(search.find("man third", 5), [1, 6]);
  assert.deepEqual(search.find("third", 5), [2, 1, 6]);
  assert.deepEqual(search.find("man", 9), [3, 1, 4, 6]);
  assert.deepEqual(search.find("京", 5), [5]);
  assert.deepEqual(search.find("zebra", 5), []);
  assert.deepEqual(search.find("   ", 5), []);
});

test("well-known items first among equally good ones, and no more than asked for", () => {
  const search = new Search(TITLES, [6, 1], NOTHING);
  assert.deepEqual(search.find("man third", 5), [6, 1]);
  assert.deepEqual(search.find("man third", 1), [6]);
});

test("words that items have beside their titles are found, after titles", () => {
  const kinds = [["Crime"], ["Film-Noir", "crime"], [], ["Comedy"], [], [], ["Crime"]];
  const names = ["Crime", "Film-Noir", "crime", "Comedy"];
  const hasOneOf = (position, columns) => kinds[position].some((name) => columns.has(names.indexOf(name)));
  const search = new Search(TITLES, [6], { names, hasOneOf });
  assert.deepEqual(search.find("crime", 5), [6, 0, 1]);
  assert.deepEqual(search.find("crime third", 5), [6, 1]);
  assert.deepEqual(search.find("crime noir", 5), [1]);
  assert.deepEqual(search.find("man", 9), [3, 6, 1, 4]);
});

test("signs of patterns mean themselves", () => {
  const search = new Search(["What? (2)", "a.b*c[d]", "\\"], [], NOTHING);
  assert.deepEqual(search.find("? (2)", 3), [0]);
  assert.deepEqual(search.find(".b*c[", 3), [1]);
  assert.deepEqual(search.find("\\", 3), [2]);
});
