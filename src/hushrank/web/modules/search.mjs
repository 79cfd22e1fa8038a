/** Finding items by titles and kinds: without accents and case, all words of the query in any order. */

/** A text without signs that turn the direction of what stands beside it. */
export function plain(text) {
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "");
}

/** A text as it is compared: lower case, without accents, one space between words. */
export function normalize(text) {
  return text.normalize("NFKD").replace(/\p{M}+/gu, "").toLowerCase().replace(/\s+/g, " ").trim();
}

export class Search {
  /**
   * `order` lists positions of well-known items; they come first among those that match equally well. `features` has
   * the words that items have beside their titles.
   */
  constructor(titles, order, features) {
    this.titles = titles.map(normalize);
    this.features = features;
    this.names = features.names.map(normalize);
    this.rank = new Map(order.map((position, place) => [position, place]));
  }

  /** Positions of the items whose titles, or kinds, have all words of the query, the best ones first. */
  find(query, n) {
    const whole = normalize(query);
    const words = whole.split(" ").filter(Boolean);
    if (!words.length) return [];
    const kinds = words.map((word) => new Set(this.names.flatMap((name, j) => (name.includes(word) ? [j] : []))));
    const found = [];
    this.titles.forEach((title, position) => {
      const missing = kinds.filter((_, i) => !title.includes(words[i]));
      if (!missing.length) found.push({ position, fit: fitOf(title, whole, words) });
      else if (missing.every((kind) => this.features.hasOneOf(position, kind))) found.push({ position, fit: -1 });
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
