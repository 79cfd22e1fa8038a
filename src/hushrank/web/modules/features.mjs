/**
 * Public features of the items, and what of an item speaks for it: the person's own slopes times what the item is.
 *
 * The same as `recommend(..., explain=True)` of the Python library. Words are kept by item, numbers by column.
 */

import { float32s, uint16s } from "./numbers.mjs";

const MOST_REASONS = 2;
const LEAST_PART = 1 / 3; // of the largest contribution, from which on another one is told

/** Where the words of each item begin, from how many it has, and where the last ones end. */
function startsOf(counts) {
  const starts = new Uint32Array(counts.length + 1);
  counts.forEach((n, j) => (starts[j + 1] = starts[j] + n));
  return starts;
}

export class Features {
  /** `data` is what the exporter wrote about features; null for a model without any. */
  constructor(data, nItems) {
    this.names = data?.names ?? [];
    this.kinds = data?.kinds ?? [];
    this.starts = startsOf(data ? uint16s(data.counts) : new Uint16Array(nItems));
    this.words = data ? uint16s(data.words) : new Uint16Array(0);
    this.values = data?.values ? float32s(data.values) : null; // null where every word that an item has is a whole 1
    this.typical = data?.typical ?? [];
    this.numbers = new Map((data?.numbers ?? []).map(({ column, values }) => [column, float32s(values)]));
    this.along = data ? float32s(data.along) : new Float64Array(0);
    this.firstSlope = data?.firstSlope ?? 0;
    this.nSlopes = data?.nSlopes ?? 0;
  }

  /** Names of the words of an item. */
  tags(position) {
    return Array.from(this.words.subarray(this.starts[position], this.starts[position + 1]), (j) => this.names[j]);
  }

  /** Whether an item has one of these words, a Set of columns. */
  hasOneOf(position, columns) {
    if (!columns.size) return false;
    const end = this.starts[position + 1];
    for (let at = this.starts[position]; at < end; at++) if (columns.has(this.words[at])) return true;
    return false;
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
      const deviation = (this.values ? this.values[at] : 1) - this.typical[j];
      parts.push({ j, part: slopes[j] * deviation, side: "" });
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
