/** Ratings as a table that `hushrank recommend --ratings` reads: columns item and rating, of implicit feedback item. */

const END = /,|\r?\n/g; // of a cell
const BLANK = /[ \t]*/y; // before a quote

/** A cell of a CSV file. */
function cell(text) {
  return /[",\r\n]|^\s|\s$/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The table of pairs [id, rating]. */
export function toCsv(pairs, isImplicit) {
  const lines = pairs.map(([id, rating]) => (isImplicit ? cell(id) : `${cell(id)},${rating}`));
  return [isImplicit ? "item" : "item,rating", ...lines, ""].join("\r\n");
}

/** Rows of cells; quoted cells may hold line breaks. A quote that is never closed is an error. */
export function parseCsv(text) {
  const rows = [];
  let row = [];
  let at = text.startsWith("\ufeff") ? 1 : 0;
  while (at < text.length) {
    let value = "";
    BLANK.lastIndex = at;
    const first = at + BLANK.exec(text)[0].length;
    if (text[first] === '"') {
      at = first;
      const pieces = [];
      for (at += 1; ; at += 1) {
        const close = text.indexOf('"', at);
        if (close < 0) throw new Error("a quote is never closed");
        pieces.push(text.slice(at, close));
        at = close + 1;
        if (text[at] !== '"') break;
      }
      value = pieces.join('"');
    }
    END.lastIndex = at;
    const end = END.exec(text);
    const stop = end?.index ?? text.length;
    row.push(value + text.slice(at, stop));
    at = stop + (end?.[0].length ?? 0);
    if (end?.[0] === ",") {
      if (at >= text.length) row.push("");
      continue;
    }
    if (row.length > 1 || row[0] !== "") rows.push(row); // an empty line is no row
    row = [];
  }
  if (row.length) rows.push(row);
  return rows;
}

/**
 * Pairs [id, rating] of a table that `toCsv` or another program wrote; an Error says in one line what is wrong.
 *
 * Ids are in their canonical form. A rating that is no number, as the library reads numbers, is NaN.
 */
export function fromCsv(text, isImplicit) {
  const [head, ...rows] = parseCsv(text);
  const names = (head ?? []).map((name) => name.trim().toLowerCase());
  const [item, rating, user] = ["item", "rating", "user"].map((name) => names.indexOf(name));
  if (item < 0 || (rating < 0 && !isImplicit)) {
    throw new Error(`the first line must name the columns ${isImplicit ? "item" : "item and rating"}`);
  }
  const wrong = rows.findIndex((cells) => cells.length !== names.length);
  if (wrong >= 0) {
    throw new Error(`row ${wrong + 1} has ${rows[wrong].length} cells, and the first line has ${names.length} names`);
  }
  const twice = ["item", "rating", "user"].find((name) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice) throw new Error(`it has two columns ${twice}`);
  if (user >= 0 && new Set(rows.map((cells) => canonical(cells[user]))).size > 1) {
    throw new Error("it has the ratings of several users");
  }
  return rows.map((cells) => [canonical(cells[item]), isImplicit ? 1 : toNumber(cells[rating])]);
}

const SPACES = /^[ \t\r\n\v\f]+|[ \t\r\n\v\f]+$/g; // around a cell, as the library strips them
const INTEGER = /^([+-]?)0*([0-9]+)(?:\.0*)?$/;
const DECIMAL = /^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

/** The one form of an id: 7 of 07, +7 and 7.0. */
export function canonical(id) {
  const text = id.replace(SPACES, "");
  const found = INTEGER.exec(text);
  if (!found) return text;
  return found[1] === "-" && found[2] !== "0" ? `-${found[2]}` : found[2];
}

function toNumber(text) {
  const word = text.replace(SPACES, "");
  return DECIMAL.test(word) ? Number(word) : NaN;
}
