import assert from "node:assert/strict";
import test from "node:test";
import { canonical, fromCsv, parseCsv, toCsv } from "../../../src/hushrank/web/modules/csv.mjs";

const IDS = ["7", "a,b", 'say "so"', "two\nlines", "\r\n", " edge ", "é", "item", "=1+1"];

test("what was written is read", () => {
  const pairs = IDS.map((id, i) => [id, i / 2]);
  const read = pairs.map(([id, rating]) => [canonical(id), rating]);
  assert.deepEqual(fromCsv(toCsv(pairs, false), false), read);
  assert.deepEqual(fromCsv(toCsv(pairs, true), true), read.map(([id]) => [id, 1]));
  assert.deepEqual(fromCsv(toCsv([], false), false), []);
});

test("tables of other programs", () => {
  assert.deepEqual(fromCsv('\ufeffRating , user,Item\n4,me,"7"\n\n3.5,me,8', false), [["7", 4], ["8", 3.5]]);
  assert.deepEqual(fromCsv("item\r\n7\r\n8", true), [["7", 1], ["8", 1]]);
  assert.deepEqual(fromCsv('item, rating\n3, "4"\n "5",\t"1"', false), [["3", 4], ["5", 1]]);
  assert.deepEqual(parseCsv("a\rb,c\r\nd,e"), [["a\rb", "c"], ["d", "e"]]); // a line ends as in the library
  assert.deepEqual(parseCsv('a,\n"",b\n"x"y,"z"'), [["a", ""], ["", "b"], ["xy", "z"]]);
});

test("empty lines and long files take no more than their size", () => {
  assert.deepEqual(parseCsv("a\n".padEnd(2 ** 20, "\n")), [["a"]]);
  assert.equal(parseCsv(`item,rating\n${"7,4\n".repeat(200000)}`).length, 200001);
});

test("what is no list of ratings is an error", () => {
  assert.throws(() => fromCsv("", false), /must name the columns item and rating/);
  assert.throws(() => fromCsv("film,stars\n1,2", false), /must name/);
  assert.throws(() => fromCsv("item,rating\n1,2\n3,4,5", false), /row 2 has 3 cells, and the first line has 2 names/);
  assert.throws(() => fromCsv("item,rating\n1", false), /row 1 has 1 cells/);
  assert.throws(() => fromCsv("item,rating,Rating\n3,1,5", false), /two columns rating/);
  assert.throws(() => fromCsv("item\r7\r8\r", true), /must name/);
  assert.throws(() => fromCsv("user,item,rating\nann,1,5\nbob,1,2", false), /ratings of several users/);
  assert.throws(() => fromCsv('item,rating\n"1,2', false), /never closed/);
});

test("ratings and ids are read as the library reads them", () => {
  const rating = (text) => fromCsv(`item,rating\n1,${text}`, false)[0][1];
  for (const [text, value] of [["4", 4], [" 4.50 ", 4.5], ["+4", 4], [".5", 0.5], ["5.", 5], ["1e-1", 0.1]]) {
    assert.equal(rating(text), value);
  }
  for (const text of ["good", "", "0x5", "0b101", "4,5".replace(",", ";"), "1_0", "\u00a04", "nan", "inf", "4 5", "\u0664"]) {
    assert.ok(Number.isNaN(rating(text)), text);
  }
  assert.deepEqual(fromCsv("item,rating\n3,abc\n4,", true), [["3", 1], ["4", 1]]); // whoever has it has it
  for (const [id, form] of [["003", "3"], ["+3", "3"], ["3.0", "3"], ["3.", "3"], ["-0", "0"], ["-07", "-7"], ["00", "0"],
    [" 7\t", "7"], ["\u00a07", "\u00a07"], ["3.5", "3.5"], ["3e0", "3e0"], ["007 bond", "007 bond"], ["", ""],
    ["000000000000000000000000000001", "1"], ["9223372036854775808", "9223372036854775808"]]) {
    assert.equal(canonical(id), form);
  }
  assert.deepEqual(fromCsv("user,item,rating\n7,1,5\n07,2,4\n", false), [["1", 5], ["2", 4]]); // one user
});
