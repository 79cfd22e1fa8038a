/** What a visitor can give an item: a few steps of a range, any number of it, or a mark that it is one's own. */

const MOST_STEPS = 11;

/** The ratings of buttons, from low to high: whole or half steps, if there are few; null for a field of numbers. */
export function stepsOf(range) {
  const [low, high] = range;
  for (const step of [1, 0.5]) {
    const count = (high - low) / step + 1;
    if (Number.isInteger(count) && count <= MOST_STEPS && Number.isInteger(low / step)) {
      return Array.from({ length: count }, (_, i) => low + i * step);
    }
  }
  return null;
}

/** A rating with few digits. */
export function show(rating) {
  return String(Number(rating.toPrecision(4)));
}

/** How items are rated, in words. */
export function sayScale(range) {
  if (range === null) return "Press what you have. To take it back, press it again.";
  const ends = `${show(range[0])} is worst, ${show(range[1])} is best.`;
  return `${ends} To take a rating back, ${stepsOf(range) ? "press it again" : "empty its field"}.`;
}

/** A prediction with the digits that its range asks for. */
export function showPrediction(rating, range) {
  const digits = range === null ? 3 : Math.min(Math.max(2 - Math.floor(Math.log10((range[1] - range[0]) / 4)), 0), 20);
  return Number.isFinite(rating) ? rating.toFixed(Math.min(digits, 20)) : String(rating);
}

/** Whether a rating says that one likes an item (1), that one does not (-1), or neither, seen from the middle. */
export function opinion(rating, range) {
  if (range === null) return 1;
  const place = (rating - range[0]) / (range[1] - range[0]);
  return place >= 0.6 ? 1 : place <= 0.4 ? -1 : 0;
}
