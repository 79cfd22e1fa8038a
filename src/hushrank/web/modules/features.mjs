/**
 * Public features of the items, and what of an item speaks for it: the person's own slopes times what the item is.
 *
 * The same as `recommend(..., explain=True)` of the Python library. Words are kept by item, numbers by column.
 */

import { float32s, uint32s } from "./numbers.mjs";

const MOST_REASONS = 2;
const LEAST_PART = 1 / 3; // of the largest contribution, from which on another one is told

export class Features {
  /** `data` is what the exporter wrote about features; null for a model without any. */
  constructor(data, nItems) {
    this.names = data?.names ?? [];
    this.kinds = data?.kinds ?? [];
    this.starts = data ? uint32s(data.starts) : new Uint32Array(nItems + 1);
    this.words = data ? uint32s(data.words) : new Uint32Array(0);
    this.deviations = data ? float32s(data.deviations) : new Float64Array(0);
    this.numbers = new Map((data?.numbers ?? []).map(({ column, values }) => [column, float32s(values)]));
    this.along = data ? float32s(data.along) : new Float64Array(0);
    this.firstSlope = data?.firstSlope ?? 0;
    this.nSlopes = data?.nSlopes ?? 0;
  }

  /** Names of the words of an item. */
  tags(position) {
    return Array.from(this.words.subarray(this.starts[position], this.starts[position + 1]), (j) => this.names[j]);
  }

  /** The person's slope on each feature; none where the model has no slopes. */
  slopes(z) {
    if (!this.nSlopes) return null;
    return Float64Array.from(this.names, (_, j) => {
      let sum = 0;
      for (let a = 0; a < this.nSlopes; a++) sum += this.along[j * this.nSlopes + a] * z[this.firstSlope + a];
      return sum;
    });
  }

  /** At most two names of what speaks for an item, the most important first; numbers are "high", "low" or "typical". */
  reasons(position, slopes) {
    if (slopes === null) return [];
    const parts = [];
    for (let at = this.starts[position]; at < this.starts[position + 1]; at++) {
      const j = this.words[at];
      parts.push({ j, part: slopes[j] * this.deviations[at], side: "" });
    }
    for (const [j, values] of this.numbers) {
      if (this.kinds[j] === "square") continue; // a number and its square are one fact
      let part = slopes[j] * values[position];
      let side = values[position] > 0 ? "high " : "low ";
      if (this.kinds[j + 1] === "square") {
        const square = this.numbers.get(j + 1)[position];
        const bend = slopes[j + 1] * square;
        if (square < 0 && bend > part) side = "typical ";
        part += bend;
      }
      parts.push({ j, part, side });
    }
    parts.sort((a, b) => b.part - a.part || a.j - b.j);
    return parts
      .slice(0, MOST_REASONS)
      .filter(({ part }) => part > 0 && part >= LEAST_PART * parts[0].part)
      .map(({ j, side }) => side + this.names[j]);
  }
}
