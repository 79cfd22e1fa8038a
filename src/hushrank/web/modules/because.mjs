/** Why an item is recommended, in words: own ratings that moved it up, and public features that this person likes. */

import { opinion } from "./scale.mjs";

const MOST_RATINGS = 2;
const LEAST_PART = 1 / 3; // of the largest move, from which on another one is told

/** Own ratings that moved a prediction up, the strongest first: positions; none where all together moved it down. */
export function causes(moves) {
  const whole = [...moves.values()].reduce((sum, move) => sum + move, 0);
  if (!(whole > 0)) return [];
  const sorted = [...moves].filter(([, move]) => move > 0).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  return sorted
    .slice(0, MOST_RATINGS)
    .filter(([, move]) => move >= LEAST_PART * sorted[0][1])
    .map(([position]) => position);
}

/**
 * One sentence, or an empty text where nothing speaks for an item.
 *
 * `titleOf` gives the title of a position, `ratings` are the visitor's own, `liked` names of public features.
 */
export function sayBecause(positions, liked, ratings, range, titleOf) {
  const said = [
    [1, range === null ? "you have" : "you liked"],
    [-1, "you did not like"],
    [0, "you gave a middling rating to"],
  ].flatMap(([side, words]) => {
    const titles = positions.filter((position) => opinion(ratings.get(position), range) === side).map(titleOf);
    return titles.length ? [`${words} ${list(titles)}`] : [];
  });
  if (liked.length) said.push(`you seem to like ${list(liked)}`);
  return said.length ? `Because ${list(said)}.` : "";
}

function list(parts) {
  return parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts[0];
}
