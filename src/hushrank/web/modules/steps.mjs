/** Controls by which a visitor rates one item: a row of buttons, a field of numbers, or one button for "I have this". */

import { make } from "./dom.mjs";
import { show, stepsOf } from "./scale.mjs";

/**
 * A control for an item.
 *
 * `chosen` is the rating so far or undefined, `label` says what is rated, `rate` is called with a rating, or with
 * undefined where it is taken back.
 */
export function ratingControl(range, chosen, label, rate) {
  if (range === null) return ownButton(chosen !== undefined, label, rate);
  const steps = stepsOf(range);
  return steps === null ? numberField(range, chosen, label, rate) : stepButtons(range, steps, chosen, label, rate);
}

function ownButton(isOwn, label, rate) {
  const attributes = { type: "button", "aria-pressed": isOwn, "aria-label": `I have ${label}`, "data-control": "own" };
  const button = make("button", attributes, isOwn ? "I have this \u2713" : "I have this");
  button.addEventListener("click", () => rate(isOwn ? undefined : 1));
  return make("div", { class: "steps" }, button);
}

/** Buttons of which one is on the way of the Tab key; arrows go to the others, Enter and Space choose. */
function stepButtons(range, steps, chosen, label, rate) {
  const reached = Math.max(steps.indexOf(chosen), 0);
  const buttons = steps.map((step, i) => {
    const attributes = {
      type: "button",
      "aria-pressed": step === chosen,
      tabindex: i === reached ? 0 : -1,
      "data-control": `step ${i}`,
    };
    const button = make("button", attributes, show(step, range));
    button.addEventListener("click", () => rate(step === chosen ? undefined : step));
    return button;
  });
  const group = make("div", { class: "steps", role: "group", "aria-label": `Rate ${label}` }, ...buttons);
  group.addEventListener("keydown", (event) => {
    const at = buttons.indexOf(document.activeElement);
    const to = { ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1, Home: 0, End: Infinity };
    if (!(event.key in to)) return;
    event.preventDefault();
    const next = buttons[Math.min(Math.max(to[event.key], 0), buttons.length - 1)];
    for (const button of buttons) button.tabIndex = button === next ? 0 : -1;
    next.focus();
  });
  return group;
}

function numberField(range, chosen, label, rate) {
  const [low, high] = range;
  const attributes = { type: "number", min: low, max: high, step: "any", "data-control": "number" };
  attributes["aria-label"] = `Rate ${label} from ${show(low, range)} to ${show(high, range)}`;
  const field = make("input", { ...attributes, value: chosen === undefined ? null : show(chosen, range) });
  field.addEventListener("change", () => {
    const given = field.valueAsNumber;
    rate(Number.isFinite(given) ? Math.min(Math.max(given, low), high) : undefined);
  });
  return make("div", { class: "steps" }, field, make("span", { class: "soft" }, ` ${show(low, range)} to ${show(high, range)}`));
}
