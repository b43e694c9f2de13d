/** The strip that goes through time: play, step, a slider over the log, the entry in words, and the way back to now. */

import { h, icon, ICONS, setAttr, setText, svg } from "./dom.js";
import { ticks } from "./pace.js";

/**
 * @typedef {object} Hooks
 * @property {(count: number) => void} go
 * @property {(by: 1|-1) => void} step
 * @property {() => void} play
 * @property {() => void} now
 * @property {() => void} leave   Back to now; from there, put the strip away.
 * @property {() => void} entry   Show the entry as it is in the log.
 *
 * @typedef {object} Sight
 * @property {number|null} count  Entries that are shown; null: all, as they come.
 * @property {number} total
 * @property {string} text        The newest of them, in words.
 * @property {string} time
 * @property {boolean} playing
 * @property {number[]} moves     Positions of moves of the leaf.
 */

const WIDE = 1000; // units of the line of ticks
const HIGH = 6;

export class Scrubber {
  /** @param {Hooks} hooks */
  constructor(hooks) {
    this.play = button(ICONS.play, "Play", () => hooks.play());
    this.back = button(ICONS.before, "One entry back (,)", () => hooks.step(-1));
    this.on = button(ICONS.after, "One entry on (.)", () => hooks.step(1));
    this.range = h("input", { class: "pt-range", type: "range", min: "0", max: "0", step: "1", "aria-label": "Time: entries of the log" });
    this.range.addEventListener("input", () => hooks.go(Number(this.range.value)));
    this.path = svg("path", { d: "" });
    const line = svg("svg", { class: "pt-ticks", viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    line.append(this.path);
    this.now = h("button", { class: "pt-now", type: "button", text: "Now", title: "Back to now (Esc)", onclick: () => hooks.now() });
    this.place = h("span", { class: "pt-when" });
    this.said = h("span", { class: "pt-then" });
    this.entry = h("button", { class: "pt-link-button", type: "button", text: "show the entry", title: "This entry as it is in the log", onclick: () => hooks.entry() });
    this.root = h("div", { class: "pt-strip", role: "group", "aria-label": "Time", hidden: true },
      h("div", { class: "pt-timebar" }, this.play, this.back, h("div", { class: "pt-track" }, this.range), this.on, this.now),
      h("div", { class: "pt-timesaid" }, this.place, this.said, this.entry));
    this.range.before(line);
    this.root.addEventListener("keydown", (event) => this.#key(event, hooks));
    this.drawn = "";
  }

  /**
   * @param {KeyboardEvent} event
   * @param {Hooks} hooks
   */
  #key(event, hooks) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") hooks.leave();
    else if (event.key === "t") hooks.now(), hooks.leave();
    else if (event.key === ",") hooks.step(-1);
    else if (event.key === ".") hooks.step(1);
    else if (event.key === " " && event.target === this.range) hooks.play();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {Sight} sight */
  show({ count, total, text, time, playing, moves }) {
    const at = count ?? total;
    const where = count === null ? "now" : `${at} of ${total}`;
    setAttr(this.range, "max", String(total));
    if (Number(this.range.value) !== at) this.range.value = String(at);
    this.range.style.setProperty("--at", String(total ? at / total : 1));
    setAttr(this.range, "aria-valuetext", count === null ? `Now: all ${total} entries` : `Entry ${where}: ${text}`);
    setText(this.place, count === null ? "Now" : `Entry ${where}${time ? ` · ${time}` : ""}`);
    setText(this.said, text);
    this.entry.hidden = count === null || at === 0;
    setAttr(this.now, "aria-disabled", String(count === null));
    setAttr(this.back, "aria-disabled", String(at === 0));
    setAttr(this.on, "aria-disabled", String(count === null));
    this.#showPlay(playing);
    this.root.classList.toggle("pt-then-shown", count !== null);
    const drawn = `${moves.length} ${total}`;
    if (drawn !== this.drawn) setAttr(this.path, "d", ticks(moves, total, WIDE, HIGH));
    this.drawn = drawn;
  }

  /** @param {boolean} playing */
  #showPlay(playing) {
    const name = playing ? "Pause" : "Play";
    if (this.play.title === name) return;
    this.play.replaceChildren(icon(playing ? ICONS.pause : ICONS.play));
    for (const attribute of ["title", "aria-label"]) setAttr(this.play, attribute, name);
  }
}

/**
 * @param {string} d
 * @param {string} title
 * @param {() => void} onclick
 */
function button(d, title, onclick) {
  const el = h("button", { class: "pt-btn", type: "button", title, "aria-label": title, onclick });
  el.append(icon(d));
  return el;
}
