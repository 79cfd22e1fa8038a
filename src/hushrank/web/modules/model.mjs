/**
 * The released model, and what one person's ratings make of it: coefficients, predictions, the best items.
 *
 * A prediction is base_j + w_j . z with z the solution of
 * (W_o^T W_o + unobserved W^T W + ridge I) z = W_o^T (y_o - base_o) over this person's ratings y_o, which are scaled to
 * [-1, 1]. New items are left out of W^T W. The same as `fold_in` and `recommend` of the Python library.
 */

import { addOuter, factorize, solve } from "./linear.mjs";
import { columnsOf, float32s } from "./numbers.mjs";

export class Model {
  /** `data` is what the exporter wrote into the page. */
  constructor(data) {
    this.base = float32s(data.base);
    this.columns = columnsOf(data.columns);
    this.width = data.columns.scales.length;
    this.nItems = this.base.length;
    this.range = data.range;
    this.prior = this.#prior(data);
    this.typical = this.#typical();
  }

  /** The mean row of the columns: what a typical item is. */
  #typical() {
    const sum = new Float64Array(this.width);
    for (let i = 0; i < this.columns.length; i++) sum[i % this.width] += this.columns[i];
    return sum.map((value) => value / this.nItems);
  }

  /** What is added to the Gram matrix of everybody's columns. */
  #prior({ ridge, unobserved, newItems }) {
    const A = new Float64Array(this.width ** 2);
    if (unobserved > 0) {
      const isNew = new Set(newItems);
      for (let j = 0; j < this.nItems; j++) {
        if (!isNew.has(j)) addOuter(A, this.columns, j * this.width, this.width, unobserved);
      }
    }
    for (let a = 0; a < this.width; a++) A[a * this.width + a] += ridge;
    return A;
  }

  /** A rating between -1 and 1, in single precision as in the library; for implicit feedback always 1. */
  scaled(rating) {
    if (this.range === null) return 1;
    const [low, high] = this.range;
    const [middle, half] = [low / 2 + high / 2, high / 2 - low / 2];
    const clipped = Math.min(Math.max(rating, low), high);
    return Math.fround(Math.min(Math.max((clipped - middle) / half, -1), 1));
  }

  /** In the units of the ratings, not yet within their range. */
  toRating(score) {
    if (this.range === null) return score;
    const [low, high] = this.range;
    return low / 2 + high / 2 + (high / 2 - low / 2) * score;
  }

  /** Within the range of the ratings. */
  clip(rating) {
    return this.range === null ? rating : Math.min(Math.max(rating, this.range[0]), this.range[1]);
  }

  /**
   * A person's coefficients from this person's ratings, a Map from positions of items to ratings.
   *
   * Gives `z`, and what `influence` needs: the Cholesky factor `L`, null where nothing can be solved (then z is zero),
   * and the `residuals` by position.
   */
  foldIn(ratings) {
    const { width, columns } = this;
    const A = Float64Array.from(this.prior);
    const x = new Float64Array(width);
    const residuals = new Map();
    for (const position of [...ratings.keys()].sort((a, b) => a - b)) {
      const residual = this.scaled(ratings.get(position)) - this.base[position];
      residuals.set(position, residual);
      addOuter(A, columns, position * width, width);
      for (let a = 0; a < width; a++) x[a] += columns[position * width + a] * residual;
    }
    const L = factorize(A, width);
    return { z: L === null ? new Float64Array(width) : solve(L, width, x), L, residuals };
  }

  /** Predictions for all items, in the units of the ratings and not clipped. */
  predict({ z }) {
    const { width, columns, base } = this;
    const predicted = new Float64Array(this.nItems);
    for (let j = 0; j < this.nItems; j++) {
      let product = 0;
      for (let a = 0, at = j * width; a < width; a++, at++) product += z[a] * columns[at];
      predicted[j] = this.toRating(base[j] + product);
    }
    return predicted;
  }

  /** Positions of the `n` largest predictions in falling order, equal ones in the order of the items, without `seen`. */
  best(predicted, seen, n) {
    const found = [];
    for (let j = 0; j < this.nItems; j++) {
      if (found.length === n && !(predicted[j] > predicted[found[n - 1]])) continue;
      if (seen.has(j)) continue;
      let place = Math.min(found.length, n - 1);
      while (place > 0 && predicted[j] > predicted[found[place - 1]]) {
        found[place] = found[place - 1];
        place -= 1;
      }
      found[place] = j;
    }
    return found;
  }

  /**
   * By how much each own rating moved the prediction of an item, by position; their sum is the whole move.
   *
   * Beside a row, such as the typical one, how much more than the prediction of an item that has this row.
   */
  influence(position, { L, residuals }, beside = null) {
    const { width, columns } = this;
    const moves = new Map();
    if (L === null) return moves;
    const start = position * width;
    const row = columns.slice(start, start + width);
    const direction = solve(L, width, beside === null ? row : row.map((value, a) => value - beside[a]));
    for (const [own, residual] of residuals) {
      let product = 0;
      for (let a = 0; a < width; a++) product += columns[own * width + a] * direction[a];
      moves.set(own, product * residual);
    }
    return moves;
  }
}
