/** The visitor's own ratings: by position of the item, and kept on the device only if the visitor has agreed. */

import { fromCsv, toCsv } from "./csv.mjs";

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
    this.isKept = keep !== null && keep.isThere; // from then on only by the visitor of this page
    this.map = new Map();
    if (this.isKept) this.#read(keep.load());
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
    this.map.set(position, rating);
    this.#save();
  }

  remove(position) {
    this.map.delete(position);
    this.#save();
  }

  clear() {
    this.map.clear();
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
      this.isKept = false;
      return false;
    }
    const own = this.#pairs();
    this.#read(this.keep.load());
    this.#read(own);
    this.isKept = this.keep.save(this.#pairs());
    return this.isKept;
  }

  /** Another page of the same address has changed what is kept: it is taken over where this one keeps, too. */
  follow() {
    if (!this.isKept) return;
    this.isKept = this.keep.isThere;
    if (!this.isKept) return;
    this.map.clear();
    this.#read(this.keep.load());
  }

  /** All ratings as a table. */
  toCsv() {
    return toCsv(this.#pairs(), this.range === null);
  }

  /** Add the ratings of a table; how many were of this catalogue, and how many were not. */
  addCsv(text) {
    if (text.length > LARGEST_FILE) throw new Error("it is too large for a list of ratings");
    const pairs = fromCsv(text, this.range === null);
    const known = this.#read(pairs);
    this.#save();
    return { known, unknown: pairs.length - known };
  }

  #pairs() {
    return Array.from(this.map, ([position, rating]) => [this.ids[position], rating]);
  }

  /** Take over pairs [id, rating] of known items; how many there were. Several of one item count as their last. */
  #read(pairs) {
    let known = 0;
    for (const [id, rating] of pairs) {
      const position = this.positions.get(id) ?? this.positions.get(String(id).trim());
      if (position === undefined || !Number.isFinite(rating)) continue;
      known += 1;
      this.map.delete(position);
      this.map.set(position, this.range === null ? 1 : Math.min(Math.max(rating, this.range[0]), this.range[1]));
    }
    return known;
  }

  #save() {
    if (this.isKept) this.keep.save(this.#pairs());
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

  get isThere() {
    try {
      return this.storage.getItem(this.key) !== null;
    } catch {
      return false;
    }
  }

  /** The pairs that were kept; none where it holds anything else. */
  load() {
    try {
      const pairs = JSON.parse(this.storage.getItem(this.key) ?? "[]");
      const isPair = (pair) => Array.isArray(pair) && typeof pair[0] === "string" && typeof pair[1] === "number";
      return Array.isArray(pairs) ? pairs.filter(isPair) : [];
    } catch {
      return [];
    }
  }

  /** Whether it could be written. */
  save(pairs) {
    try {
      this.storage.setItem(this.key, JSON.stringify(pairs));
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
