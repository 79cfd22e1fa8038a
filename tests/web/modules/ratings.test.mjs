import assert from "node:assert/strict";
import test from "node:test";
import { Keep, Ratings } from "../../../src/hushrank/web/modules/ratings.mjs";

class Storage {
  #held = new Map();
  getItem(key) {
    return this.#held.get(key) ?? null;
  }
  setItem(key, text) {
    this.#held.set(key, text);
  }
  removeItem(key) {
    this.#held.delete(key);
  }
  get size() {
    return this.#held.size;
  }
}

const broken = { getItem() { throw new Error("no"); }, setItem() { throw new Error("full"); }, removeItem() { throw new Error("no"); } };

test("nothing is kept unless the visitor agrees, and nothing is left when the visitor takes that back", () => {
  const storage = new Storage();
  const ratings = new Ratings(["7", "8"], [1, 5], new Keep(storage, "model"));
  ratings.set(0, 4);
  assert.equal(storage.size, 0);
  assert.equal(ratings.agree(true), true);
  ratings.set(1, 2);
  const again = new Ratings(["7", "8"], [1, 5], new Keep(storage, "model"));
  assert.deepEqual([...again.map], [[0, 4], [1, 2]]);
  assert.equal(new Ratings(["7", "8"], [1, 5], new Keep(storage, "other model")).size, 0);
  again.remove(0);
  assert.deepEqual([...new Ratings(["7", "8"], [1, 5], new Keep(storage, "model")).map], [[1, 2]]);
  assert.equal(again.agree(false), false);
  again.set(0, 1);
  assert.equal(storage.size, 0);
  assert.equal(again.size, 2);
});

test("ratings of a page whose visitor has not agreed stay in it, whatever another page keeps", () => {
  const storage = new Storage();
  const [first, second] = [0, 1].map(() => new Ratings(["7", "8"], [1, 5], new Keep(storage, "page")));
  second.set(1, 2);
  first.set(0, 4);
  first.agree(true);
  second.follow();
  second.set(1, 3);
  assert.equal(storage.getItem("page"), '{"range":[1,5],"ratings":[["7",4]]}');
  second.clear();
  assert.equal(storage.getItem("page"), '{"range":[1,5],"ratings":[["7",4]]}');
  second.set(1, 3);
  assert.equal(second.agree(true), true); // now both are kept
  first.follow();
  assert.deepEqual([...first.map], [[0, 4], [1, 3]]);
  second.agree(false);
  first.follow();
  first.set(0, 1);
  assert.deepEqual([first.isKept, storage.size, first.size], [false, 0, 2]);
});

test("what another page plants is not followed where nothing is kept", () => {
  const storage = new Storage();
  const ratings = new Ratings(["7"], [1, 5], new Keep(storage, "page"));
  storage.setItem("page", "[]");
  ratings.set(0, 4);
  assert.deepEqual([ratings.isKept, storage.getItem("page")], [false, "[]"]);
});

test("deleting all also deletes what is kept", () => {
  const storage = new Storage();
  const ratings = new Ratings(["7"], [1, 5], new Keep(storage, "model"));
  ratings.set(0, 4);
  ratings.agree(true);
  ratings.clear();
  assert.equal(storage.getItem("model"), '{"range":[1,5],"ratings":[]}');
  assert.equal(new Ratings(["7"], [1, 5], new Keep(storage, "model")).size, 0);
});

test("nothing kept is no consent, whoever has written it there", () => {
  const storage = new Storage();
  storage.setItem("page", '{"range":[1,5],"ratings":[]}');
  const ratings = new Ratings(["7"], [1, 5], new Keep(storage, "page"));
  ratings.set(0, 4);
  assert.deepEqual([ratings.isKept, storage.getItem("page")], [false, '{"range":[1,5],"ratings":[]}']);
});

test("storage that is missing, full or full of other things stops nothing", () => {
  const without = new Ratings(["7"], [1, 5], null);
  assert.equal(without.agree(true), false);
  const full = new Ratings(["7"], [1, 5], new Keep(broken, "model"));
  assert.equal(full.agree(true), false);
  full.set(0, 3);
  assert.equal(full.isKept, false);
  full.agree(false);
  assert.equal(Keep.of({ get localStorage() { throw new Error("denied"); } }, "model"), null);
  const strange = ["{", "null", "3", '{"a":1}', '[["7",4]]', '{"range":[1,5]}', '{"range":[1,5],"ratings":3}'];
  for (const text of strange) {
    const storage = new Storage();
    storage.setItem("model", text);
    const found = new Ratings(["7"], [1, 5], new Keep(storage, "model"));
    found.set(0, 2);
    assert.deepEqual([found.isKept, found.size, storage.getItem("model")], [false, 1, text]); // it is somebody else's
  }
  const storage = new Storage();
  storage.setItem("model", '{"range":[1,5],"ratings":[["7"],[7,3],["9",2],["7",null],["7",9]]}');
  assert.deepEqual([...new Ratings(["7"], [1, 5], new Keep(storage, "model")).map], [[0, 5]]);
});

test("ratings that cannot be kept any more stay in the page, and it is told", () => {
  const storage = new Storage();
  const ratings = new Ratings(["7", "8"], [1, 5], new Keep(storage, "page"));
  ratings.set(0, 4);
  ratings.agree(true);
  assert.equal(ratings.takeFailure(), false);
  storage.setItem = broken.setItem;
  ratings.set(1, 2);
  assert.deepEqual([ratings.isKept, ratings.takeFailure(), ratings.takeFailure()], [false, true, false]);
  ratings.follow();
  assert.deepEqual([...ratings.map], [[0, 4], [1, 2]]);
});

test("what somebody else has written in the place of what was kept discards nothing", () => {
  const storage = new Storage();
  const ratings = new Ratings(["7"], [1, 5], new Keep(storage, "page"));
  ratings.set(0, 4);
  ratings.agree(true);
  storage.setItem("page", "nonsense");
  ratings.follow();
  assert.deepEqual([ratings.isKept, ratings.size], [false, 1]);
});

test("two pages that keep lose nothing of each other", () => {
  const storage = new Storage();
  const [first, second] = [0, 1].map(() => new Ratings(["7", "8", "9"], [1, 5], new Keep(storage, "page")));
  first.agree(true);
  second.agree(true);
  first.set(0, 4); // before any of them is told of the other
  second.set(1, 2);
  first.set(2, 3);
  second.remove(0);
  assert.deepEqual(JSON.parse(storage.getItem("page")).ratings, [["8", 2], ["9", 3]]);
});

test("another page in the place of this one: items that are gone come back, another range is not taken for this one", () => {
  const storage = new Storage();
  const before = new Ratings(["a", "b"], [0, 100], new Keep(storage, "page"));
  before.set(0, 80);
  before.set(1, 20);
  before.agree(true);
  const fewer = new Ratings(["b", "c"], [0, 100], new Keep(storage, "page"));
  fewer.set(1, 50);
  assert.equal(fewer.toCsv(), "item,rating\r\nb,20\r\nc,50\r\n");
  assert.deepEqual([...new Ratings(["a", "b", "c"], [0, 100], new Keep(storage, "page")).map], [[1, 20], [2, 50], [0, 80]]);
  for (const range of [[1, 5], null]) {
    const other = new Ratings(["a", "b"], range, new Keep(storage, "page"));
    other.set(0, 1);
    assert.deepEqual([other.isKept, other.size], [false, 1]);
  }
  assert.equal(JSON.parse(storage.getItem("page")).ratings.length, 3);
  before.agree(false);
  assert.equal(storage.size, 0);
});

test("files of ratings: known items are read, others counted, several of one item are their mean", () => {
  const ratings = new Ratings(["7", "x, y"], [1, 5]);
  const table = 'item,rating\n7,2\n"x, y",9\n07,3\n99,1\n 7 ,7\n7,\n7,good';
  assert.deepEqual(ratings.addCsv(table), { known: 2, unknown: 1, broken: 2, clipped: 2 });
  const mean = (2 + 3 + 5) / 3;
  assert.deepEqual([...ratings.map], [[0, mean], [1, 5]]);
  assert.deepEqual(ratings.latest(), [1, 0]);
  assert.equal(ratings.toCsv(), `item,rating\r\n7,${mean}\r\n"x, y",5\r\n`);
  ratings.set(0, 4);
  ratings.addCsv("item,rating\n7,2"); // what the file says counts, and not what was before
  assert.equal(ratings.get(0), 2);
  for (const rating of [1, 2, 3.5, 5]) {
    const table = `item,rating\n${`7,${rating}\n`.repeat(13)}`;
    ratings.addCsv(table); // the mean of equal ratings is this rating, and its button is pressed
    assert.equal(ratings.get(0), rating);
    assert.equal(ratings.addCsv(ratings.toCsv()).clipped, 0);
  }
  ratings.addCsv(`item,rating\n${"7,4.1\n".repeat(300000)}`); // what one has heard so often takes no hours
  assert.ok(Math.abs(ratings.get(0) - 4.1) < 1e-9);
  ratings.set(0, 2);
  assert.throws(() => ratings.addCsv("x".repeat(2 ** 22 + 1)), /too large/);
  assert.throws(() => ratings.addCsv("nonsense"), /must name/);
  assert.equal(ratings.size, 2);
});

test("implicit feedback", () => {
  const ratings = new Ratings(["7", "8"], null);
  assert.deepEqual(ratings.addCsv("item\n8\n"), { known: 1, unknown: 0, broken: 0, clipped: 0 });
  ratings.set(0, 1);
  assert.equal(ratings.toCsv(), "item\r\n8\r\n7\r\n");
});
