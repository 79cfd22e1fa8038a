/** The visitor's own ratings: by position of the item, and kept on the device only if the visitor has agreed. */

import { canonical, fromCsv, toCsv } from "./csv.mjs";

export const LARGEST_FILE = 4 * 2 ** 20; // characters

export class Ratings {
  /**
   * `ids` are those of the items as texts, `range` the lowest and highest rating or null for implicit feedback,
   * `keep` a `Keep` or null.
   */
  constructor(ids, range, keep = null) {
    this.ids = ids;
    this.range = range;
    this.positions = new Map(ids.map((id, position) => [id, position]));
    this.keep = keep;
    this.map = new Map();
    this.others = []; // kept pairs of items that this catalogue has not, perhaps the next one
    this.isKept = keep !== null && this.#load() && this.map.size + this.others.length > 0; // then only by the visitor
    this.hasFailed = false; // to keep them, since `takeFailure`
  }

  get size() {
    return this.map.size;
  }

  has(position) {
    return this.map.has(position);
  }

  get(position) {
    return this.map.get(position);
  }

  /** Positions, the one that was rated last first. */
  latest() {
    return [...this.map.keys()].reverse();
  }

  set(position, rating) {
    this.follow();
    this.map.set(position, rating);
    this.#save();
  }

  remove(position) {
    this.follow();
    this.map.delete(position);
    this.#save();
  }

  clear() {
    this.follow();
    this.map.clear();
    this.others = [];
    this.#save();
  }

  /**
   * Whether ratings are kept on this device from now on; what was kept is deleted if not. False where it cannot be.
   *
   * What another page of the same address has kept meanwhile is joined with what is rated here, which counts.
   */
  agree(agreed) {
    if (this.keep === null) return false;
    if (!agreed) {
      this.keep.forget();
      this.others = [];
      this.isKept = false;
      return false;
    }
    const own = this.#pairs();
    this.#load();
    this.#read(own);
    this.isKept = true;
    this.#save();
    return this.isKept;
  }

  /** Where ratings are kept, those that another page of the same address has changed are taken over. */
  follow() {
    if (this.isKept) this.isKept = this.#load();
  }

  /** Whether ratings could not be kept since this was asked last. */
  takeFailure() {
    const hasFailed = this.hasFailed;
    this.hasFailed = false;
    return hasFailed;
  }

  /** All ratings as a table. */
  toCsv() {
    return toCsv(this.#pairs(), this.range === null);
  }

  /**
   * Add the ratings of a table, of which several of one item count as their mean, as in the library.
   *
   * Gives how many items were rated, and how many rows are of no item of this catalogue (`unknown`), have no number
   * (`broken`), or one out of range, which counts as the end of the range (`clipped`).
   */
  addCsv(text) {
    if (text.length > LARGEST_FILE) throw new Error("it is too large for a list of ratings");
    const pairs = fromCsv(text, this.range === null);
    const told = { known: 0, unknown: 0, broken: 0, clipped: 0 };
    const found = new Map();
    for (const [id, rating] of pairs) {
      const position = this.#find(id);
      if (position === undefined) told.unknown += 1;
      else if (!Number.isFinite(rating)) told.broken += 1;
      else {
        if (this.#clip(rating) !== rating) told.clipped += 1;
        const { sum, n } = found.get(position) ?? { sum: 0, n: 0 };
        found.set(position, { sum: sum + this.#clip(rating), n: n + 1 });
      }
    }
    this.follow();
    for (const [position, { sum, n }] of found) {
      this.map.delete(position);
      this.map.set(position, this.#clip(sum / n));
    }
    this.#save();
    return { ...told, known: found.size };
  }

  #clip(rating) {
    return this.range === null ? 1 : Math.min(Math.max(rating, this.range[0]), this.range[1]);
  }

  #pairs() {
    return Array.from(this.map, ([position, rating]) => [this.ids[position], rating]);
  }

  /** Take over pairs [id, rating] of known items, of which several of one item count as their last. */
  #read(pairs) {
    for (const [id, rating] of pairs) {
      const position = this.#find(id);
      if (position === undefined || !Number.isFinite(rating)) continue;
      this.map.delete(position);
      this.map.set(position, this.#clip(rating));
    }
  }

  /** Take what is kept, if it is ours and of this range; else nothing changes. Whether it was. */
  #load() {
    const pairs = this.keep.load(this.range);
    if (pairs === null) return false;
    this.map.clear();
    this.#read(pairs);
    this.others = pairs.filter(([id]) => this.#find(id) === undefined);
    return true;
  }

  #save() {
    if (!this.isKept) return;
    this.isKept = this.keep.save(this.range, [...this.#pairs(), ...this.others]);
    this.hasFailed ||= !this.isKept;
  }

  #find(id) {
    return this.positions.get(id) ?? this.positions.get(canonical(id));
  }
}

/** A place in the browser's own storage, which may be missing, full or full of somebody else's text. */
export class Keep {
  constructor(storage, key) {
    this.storage = storage;
    this.key = key;
  }

  /** The storage of this browser, or null where there is none. */
  static of(window, key) {
    try {
      return window.localStorage ? new Keep(window.localStorage, key) : null;
    } catch {
      return null;
    }
  }

  /** The pairs that were kept for this range; null where there are none, or anything else. */
  load(range) {
    try {
      const kept = JSON.parse(this.storage.getItem(this.key));
      const isPair = (pair) => Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "number";
      return JSON.stringify(kept.range) === JSON.stringify(range) ? kept.ratings.filter(isPair) : null;
    } catch {
      return null;
    }
  }

  /** Whether it could be written. */
  save(range, ratings) {
    try {
      this.storage.setItem(this.key, JSON.stringify({ range, ratings }));
      return true;
    } catch {
      return false;
    }
  }

  forget() {
    try {
      this.storage.removeItem(this.key);
    } catch {
      // There is nothing to forget where nothing can be kept.
    }
  }
}
