/** The page: what the visitor searches, rates, is recommended and keeps. Nothing here can send anything anywhere. */

import { causes, sayBecause } from "./because.mjs";
import { byId, make, replaceRows, say } from "./dom.mjs";
import { Features } from "./features.mjs";
import { Model } from "./model.mjs";
import { Keep, LARGEST_FILE, Ratings } from "./ratings.mjs";
import { sayScale, show, showPrediction } from "./scale.mjs";
import { plain, Search } from "./search.mjs";
import { ratingControl } from "./steps.mjs";

const FOUND_AT_ONCE = 8;
const BEST_AT_ONCE = 10;
const OWN_AT_ONCE = 20;
const MOST_TAGS = 4;
const NEWS_SECONDS = 8;

export class Page {
  constructor(data) {
    this.titles = (data.titles ?? data.ids.map(named)).map(plain);
    this.hasTastes = data.hasTastes;
    this.isUnsure = new Set(data.unsure);
    this.order = data.order;
    this.model = new Model(data);
    this.features = new Features(data.features, this.titles.length);
    this.search = new Search(this.titles, data.order, this.features);
    this.ratings = new Ratings(data.ids, data.range, Keep.of(window, keyOf(location)));
    this.nFound = FOUND_AT_ONCE;
    this.nBest = BEST_AT_ONCE;
    this.ownCount = OWN_AT_ONCE;
  }

  /** Connect the page with its controls and show it. */
  start() {
    byId("query").addEventListener("input", () => this.#searchFrom(FOUND_AT_ONCE));
    byId("more-found").addEventListener("click", () => this.#searchFrom(this.nFound + FOUND_AT_ONCE));
    byId("more-best").addEventListener("click", () => {
      this.nBest += BEST_AT_ONCE;
      this.#showBest();
    });
    byId("more-own").addEventListener("click", () => {
      this.ownCount += OWN_AT_ONCE;
      this.#showOwn();
    });
    const keep = byId("keep");
    keep.disabled = this.ratings.keep === null;
    keep.checked = this.ratings.isKept;
    keep.addEventListener("change", () => this.#agree(keep));
    window.addEventListener("storage", ({ key }) => {
      if (key === null || key === keyOf(location)) this.#follow(keep);
    });
    window.addEventListener("pageshow", ({ persisted }) => {
      if (persisted) this.#follow(keep); // it was asleep, and heard nothing
    });
    byId("export").addEventListener("click", () => this.#writeFile());
    byId("import").addEventListener("change", (event) => this.#readFile(event.target));
    byId("clear").addEventListener("click", () => this.#clear());
    byId("to-best").addEventListener("click", () => this.#hideNews(0));
    say("how", sayScale(this.model.range));
    byId("app").hidden = false;
    this.#showAll();
  }

  #showAll() {
    this.#showFound();
    this.#showBest();
    this.#showOwn();
  }

  #searchFrom(nFound) {
    this.nFound = nFound;
    this.#showFound();
  }

  #showFound() {
    const query = byId("query").value;
    const isAsked = query.trim() !== "";
    const found = isAsked ? this.search.find(query, this.nFound + 1) : this.order.slice(0, this.nFound + 1);
    const shown = found.slice(0, this.nFound);
    const areMore = found.length > shown.length;
    say("found", isAsked ? sayFound(shown.length, areMore) : "Well-known items to start with:");
    byId("more-found").hidden = !areMore;
    replaceRows(byId("results"), shown.map((position) => this.#row(position)), byId("query"));
  }

  #showBest() {
    const fit = this.model.foldIn(this.ratings.map);
    const predicted = this.model.predict(fit);
    const best = this.model.best(predicted, this.ratings.map, this.nBest + 1);
    const shown = best.slice(0, this.nBest);
    const slopes = this.features.slopes(fit.z);
    const rows = shown.map((position) => {
      return this.#row(position, this.model.clip(predicted[position]), this.#because(position, fit, slopes));
    });
    say("told", this.#sayBest(shown.length));
    byId("more-best").hidden = best.length === shown.length;
    replaceRows(byId("best"), rows, byId("best-title"));
  }

  #showOwn() {
    const positions = this.ratings.latest();
    const ownCount = positions.length;
    say("own-told", ownCount ? `${count(ownCount, "rating")}, known to this page only.` : "None yet.");
    for (const id of ["export", "clear"]) byId(id).disabled = !ownCount;
    byId("more-own").hidden = ownCount <= this.ownCount;
    const shown = positions.slice(0, this.ownCount);
    replaceRows(byId("own"), shown.map((position) => this.#row(position)), byId("own-title"));
  }

  #sayBest(nShown) {
    if (!nShown) return "Nothing is left to recommend: you have rated everything.";
    if (!this.ratings.size) return "You have rated nothing yet: this is what everybody is told. Rate a few items.";
    return `From ${count(this.ratings.size, "rating")} of yours, computed on this page.`;
  }

  #because(position, fit, slopes) {
    if (!this.ratings.size || !this.hasTastes) return "";
    const own = causes(this.model.influence(position, fit, this.model.typical)); // beside others: offsets move all
    const liked = this.features.reasons(position, slopes);
    return sayBecause(own, liked, this.ratings.map, this.model.range, (at) => this.titles[at]);
  }

  /** One item with the control that rates it, and what is predicted for it. */
  #row(position, score = null, why = "") {
    const title = this.titles[position];
    const tags = this.features.tags(position).slice(0, MOST_TAGS);
    const about = make(
      "div",
      { class: "about" },
      make("bdi", { class: "title" }, title),
      score === null ? null : this.#score(score),
      tags.length ? make("span", { class: "soft" }, tags.join(", ")) : null,
      this.isUnsure.has(position) ? make("span", { class: "soft" }, "uncertain: mostly noise") : null,
      why ? make("p", { class: "why" }, why) : null,
    );
    const rate = (rating) => this.#rate(position, rating);
    const control = ratingControl(this.model.range, this.ratings.get(position), title, rate);
    return make("li", { "data-position": position }, about, control);
  }

  #score(score) {
    const label = make("span", { class: "quiet" }, " predicted ");
    return make("data", { class: "score", value: score }, label, showPrediction(score, this.model.range));
  }

  #rate(position, rating) {
    if (rating === undefined) this.ratings.remove(position);
    else this.ratings.set(position, rating);
    this.#showAll();
    const title = this.titles[position];
    const given = this.model.range === null ? `Noted: ${title}` : `Rated ${title}: ${show(rating ?? 0, this.model.range)}`;
    this.#tell(`${rating === undefined ? `Removed ${title}` : given}. Recommendations are new.`);
  }

  #agree(keep) {
    const isKept = this.ratings.agree(keep.checked);
    this.#showAll();
    this.#tell(isKept ? "Your ratings are kept on this device." : "This page keeps nothing on this device.");
  }

  /** Show what another page of this address has kept, or no longer keeps. */
  #follow(keep) {
    this.ratings.follow();
    keep.checked = this.ratings.isKept;
    const { type, value, defaultValue } = document.activeElement ?? {};
    if (type !== "number" || value === defaultValue) this.#showAll(); // else somebody is typing
  }

  #writeFile() {
    const address = URL.createObjectURL(new Blob([this.ratings.toCsv()], { type: "text/csv" }));
    const link = make("a", { href: address, download: "my-ratings.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
    this.#tell("Your ratings are in the file my-ratings.csv.");
  }

  async #readFile(input) {
    const [file] = input.files;
    if (!file) return;
    try {
      if (file.size > LARGEST_FILE) throw new Error("it is too large for a list of ratings");
      const told = this.ratings.addCsv(await file.text());
      this.#showAll();
      this.#tell(sayRead(told, this.model.range));
    } catch (error) {
      this.#tell(`The file was not read: ${error.message}.`);
    }
    input.value = "";
  }

  #clear() {
    if (!confirm("Delete all your ratings?")) return;
    this.ratings.clear();
    this.#showAll();
    byId("own-title").focus();
    this.#tell("Your ratings are deleted.");
  }

  #tell(news) {
    const keep = byId("keep");
    keep.checked = this.ratings.isKept;
    const told = this.ratings.takeFailure() ? `${news} This device could not keep your ratings.` : news;
    say("news", byId("news").textContent === told ? `${told}\u00a0` : told); // the same news again is news
    byId("bar").classList.remove("empty");
    this.#hideNews(NEWS_SECONDS);
  }

  /** Take the news away after a while, which readers of screens have heard by then; not while somebody is at them. */
  #hideNews(seconds) {
    clearTimeout(this.hiding);
    this.hiding = setTimeout(() => {
      if (seconds && byId("bar").matches(":hover, :focus-within")) this.#hideNews(seconds);
      else {
        say("news", "");
        byId("bar").classList.add("empty");
      }
    }, 1000 * seconds);
  }
}

/** Where ratings of this page are kept: of this address, so that a newer page in its place finds them. */
function keyOf({ href }) {
  return `hushrank ${href.split("#")[0]}`;
}

function count(n, what) {
  return `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
}

/** What was read of a file, and what was not. */
function sayRead({ known, unknown, broken, clipped }, range) {
  const said = [known ? `${count(known, "rating")} read` : "No rating was read"];
  if (clipped) said.push(`${clipped} outside of ${show(range[0], range)} to ${show(range[1], range)} counted as the nearer end`);
  if (unknown) said.push(`${unknown} of no item of this catalogue left out`);
  if (broken) said.push(`${broken} without a number left out`);
  return `${said.join("; ")}.`;
}

/** How an item is called that has no title: a number alone would be taken for a rating. */
function named(id) {
  return /^[0-9]+$/.test(id) ? `item ${id}` : id;
}

function sayFound(n, areMore) {
  if (!n) return "Nothing has these words.";
  return areMore ? `The first ${n} items that match:` : `${count(n, "item")} found:`;
}
