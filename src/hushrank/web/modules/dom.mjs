/** Elements of a page, made without HTML texts: whatever a title says, it stays text. */

/** A new element; attributes that are null are left out, children are elements or texts. */
export function make(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** The element of the page that has this id. */
export function byId(id) {
  return document.getElementById(id);
}

/** Let an element say this; one that says it already stays as it is, so that readers of screens hear what is new. */
export function say(id, text) {
  const element = byId(id);
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Put new rows into a list and leave the keyboard where it was: at the same control of the same row; where that row is
 * gone, at the one that took its place; where none is left, at `fallback`.
 *
 * Rows have `data-position`, their controls `data-control`.
 */
export function replaceRows(list, rows, fallback) {
  const held = list.contains(document.activeElement) ? document.activeElement : null;
  const oldRow = held?.closest("[data-position]");
  const place = oldRow ? [...list.children].indexOf(oldRow) : -1;
  list.replaceChildren(...rows);
  if (held === null) return;
  const same = oldRow && list.querySelector(`[data-position="${oldRow.dataset.position}"]`);
  const control = same?.querySelector(`[data-control="${held.dataset.control}"]`);
  const next = list.children[Math.min(place, list.children.length - 1)];
  const entry = next?.querySelector("[tabindex='0']") ?? next?.querySelector("input, button");
  (control ?? entry ?? fallback).focus();
}
