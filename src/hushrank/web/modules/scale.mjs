/** What a visitor can give an item: a few steps of a range, any number of it, or a mark that it is one's own. */

const MOST_STEPS = 11;
const MOST_DIGITS = 9; // behind the point, from which on few people count them

/** The ratings of buttons, from low to high: whole or half steps, if there are few; null for a field of numbers. */
export function stepsOf(range) {
  const [low, high] = range;
  for (const step of [1, 0.5]) {
    const count = (high - low) / step + 1;
    if (Number.isInteger(count) && count >= 2 && count <= MOST_STEPS && Number.isInteger(low / step)) {
      return Array.from({ length: count }, (_, i) => low + i * step);
    }
  }
  return null;
}

/** How many digits behind the point tell a hundredth of a range. */
function digitsOf([low, high]) {
  return Math.min(Math.max(2 - Math.floor(Math.log10((high - low) / 4)), 0), 100);
}

/** A rating with the digits that its range asks for, and none that say nothing. */
export function show(rating, range) {
  if (range === null) return "1";
  const shown = Number(rating.toFixed(Math.min(digitsOf(range) + 1, 100)));
  return String(shown === 0 ? Number(rating.toPrecision(3)) : shown);
}

/** How items are rated, in words. */
export function sayScale(range) {
  if (range === null) return "Press what you have. To take it back, press it again.";
  const ends = `${show(range[0], range)} is worst, ${show(range[1], range)} is best.`;
  return `${ends} To take a rating back, ${stepsOf(range) ? "press it again" : "empty its field"}.`;
}

/** A prediction with the digits that its range asks for. */
export function showPrediction(rating, range) {
  if (!Number.isFinite(rating)) return String(rating);
  const digits = range === null ? 3 : digitsOf(range);
  return digits > MOST_DIGITS ? rating.toPrecision(4) : rating.toFixed(digits);
}

/** Whether a rating says that one likes an item (1), that one does not (-1), or neither, seen from the middle. */
export function opinion(rating, range) {
  if (range === null) return 1;
  const place = (rating - range[0]) / (range[1] - range[0]);
  return place >= 0.6 ? 1 : place <= 0.4 ? -1 : 0;
}
