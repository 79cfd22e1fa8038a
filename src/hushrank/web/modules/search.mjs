/** Finding items by their titles: without accents and case, all words of the query in any order. */

/** A text as it is compared: lower case, without accents, one space between words. */
export function normalize(text) {
  return text.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase().replace(/\s+/g, " ").trim();
}

export class Search {
  /** `order` lists positions of well-known items; they come first among titles that match equally well. */
  constructor(titles, order) {
    this.titles = titles.map(normalize);
    this.rank = new Map(order.map((position, place) => [position, place]));
  }

  /** Positions of the items whose titles have all words of the query, the best ones first. */
  find(query, n) {
    const whole = normalize(query);
    const words = whole.split(" ").filter(Boolean);
    if (!words.length) return [];
    const found = [];
    this.titles.forEach((title, position) => {
      if (words.every((word) => title.includes(word))) found.push({ position, fit: fitOf(title, whole, words) });
    });
    const rank = (position) => this.rank.get(position) ?? this.rank.size;
    found.sort((a, b) => b.fit - a.fit || rank(a.position) - rank(b.position) || a.position - b.position);
    return found.slice(0, n).map(({ position }) => position);
  }
}

/** The same title 4, its beginning 3, the query at the start of a word 2, all words at starts 1, anywhere 0. */
function fitOf(title, whole, words) {
  if (title === whole) return 4;
  if (title.startsWith(whole)) return 3;
  if (startsWord(title, whole)) return 2;
  return words.every((word) => startsWord(title, word)) ? 1 : 0;
}

function startsWord(title, text) {
  for (let at = title.indexOf(text); at >= 0; at = title.indexOf(text, at + 1)) {
    if (at === 0 || !/[\p{L}\p{N}]/u.test(title[at - 1])) return true;
  }
  return false;
}
