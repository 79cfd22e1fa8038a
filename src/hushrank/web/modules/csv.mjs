/** Ratings as a table that `hushrank recommend --ratings` reads: columns item and rating, of implicit feedback item. */

const END = /[,\r\n]/g; // of a cell

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
    if (text[at] === '"') {
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
    const stop = END.exec(text)?.index ?? text.length;
    row.push(value + text.slice(at, stop));
    at = stop + 1;
    if (text[stop] === ",") {
      if (at >= text.length) row.push("");
      continue;
    }
    if (text[stop] === "\r" && text[at] === "\n") at += 1;
    if (row.length > 1 || row[0] !== "") rows.push(row); // an empty line is no row
    row = [];
  }
  if (row.length) rows.push(row);
  return rows;
}

/** Pairs [id, rating] of a table that `toCsv` or another program wrote; an Error says in one line what is wrong. */
export function fromCsv(text, isImplicit) {
  const [head, ...rows] = parseCsv(text);
  const names = (head ?? []).map((name) => name.trim().toLowerCase());
  const item = names.indexOf("item");
  const rating = names.indexOf("rating");
  if (item < 0 || (rating < 0 && !isImplicit)) {
    throw new Error(`the first line must name the columns ${isImplicit ? "item" : "item and rating"}`);
  }
  if (!isImplicit && rows.some((cells) => !isNumber(cells[rating]))) throw new Error("a rating is no number");
  return rows.filter((cells) => cells[item] !== undefined).map((cells) => [cells[item], Number(cells[rating] ?? 1)]);
}

function isNumber(text) {
  return text !== undefined && text.trim() !== "" && Number.isFinite(Number(text));
}
