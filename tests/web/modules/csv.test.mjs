import assert from "node:assert/strict";
import test from "node:test";
import { fromCsv, parseCsv, toCsv } from "../../../src/hushrank/web/modules/csv.mjs";

const IDS = ["7", "a,b", 'say "so"', "two\nlines", "\r\n", " edge ", "é", "item", "=1+1"];

test("what was written is read", () => {
  const pairs = IDS.map((id, i) => [id, i / 2]);
  assert.deepEqual(fromCsv(toCsv(pairs, false), false), pairs);
  assert.deepEqual(fromCsv(toCsv(pairs, true), true), pairs.map(([id]) => [id, 1]));
  assert.deepEqual(fromCsv(toCsv([], false), false), []);
});

test("tables of other programs", () => {
  assert.deepEqual(fromCsv('\ufeffRating , user,Item\n4,me,"7"\n\n3.5,me,8', false), [["7", 4], ["8", 3.5]]);
  assert.deepEqual(fromCsv("item\r7\r8\r", true), [["7", 1], ["8", 1]]);
  assert.deepEqual(parseCsv('a,\n"",b\n"x"y,"z"'), [["a", ""], ["", "b"], ["xy", "z"]]);
});

test("empty lines and long files take no more than their size", () => {
  assert.deepEqual(parseCsv("a\n".padEnd(2 ** 20, "\n")), [["a"]]);
  assert.equal(parseCsv(`item,rating\n${"7,4\n".repeat(200000)}`).length, 200001);
});

test("what is no list of ratings is an error", () => {
  assert.throws(() => fromCsv("", false), /must name the columns item and rating/);
  assert.throws(() => fromCsv("film,stars\n1,2", false), /must name/);
  assert.throws(() => fromCsv("item,rating\n1,good", false), /no number/);
  assert.throws(() => fromCsv("item,rating\n1", false), /no number/);
  assert.throws(() => fromCsv("item,rating\n1,", false), /no number/);
  assert.throws(() => fromCsv('item,rating\n"1,2', false), /never closed/);
});
