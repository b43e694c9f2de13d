/** Going through time: which moment is shown, playing, and what the strip says of it. Writes nothing. */

import { pace } from "./pace.js";
import { Scrubber } from "./scrubber.js";
import { told } from "./telling.js";
import { clock } from "./wording.js";

/** @typedef {import("./view.js").View} View */

const LOOKING = "This is the tree as it was: clicks only look. Now, or Esc, comes back.";
const HOW = "Drag to see the tree as it was. Ticks: the leaf moved.";
const QUIET = 140; // ms without a step after which the panel keeps up again

export class Time {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.strip = new Scrubber({
      go: (count) => (this.pause(), this.go(count)),
      step: (by) => (this.pause(), this.step(by)),
      play: () => (this.timer ? this.pause() : this.play()),
      now: () => this.now(),
      leave: () => this.leave(),
      entry: () => this.#entry(),
    });
    this.timer = 0;
    /** When time was last gone through. */ this.moved = -Infinity;
    this.rushed = false; // that was soon after the time before
  }

  get open() {
    return !this.strip.root.hidden;
  }

  get #log() {
    return this.view.store.log;
  }

  /** Whether moments follow each other too fast for the panel to keep up. */
  get hurried() {
    return this.rushed && performance.now() - this.moved < QUIET;
  }

  /** Show the strip, or put it away and come back to now. */
  toggle() {
    if (this.open) return this.close();
    this.strip.root.hidden = false;
    this.show();
    this.view.refresh();
    this.strip.range.focus();
  }

  close() {
    const inside = this.strip.root.contains(document.activeElement);
    this.now();
    this.strip.root.hidden = true;
    if (inside) this.view.list.scroller.focus();
    this.view.refresh();
  }

  /** Back to now; from there, put the strip away. */
  leave() {
    if (this.view.state.moment) this.now();
    else this.close();
  }

  now() {
    this.pause();
    this.go(Infinity);
  }

  /**
   * Show the tree as it was when there were so many entries; with all of them it is now, and grows.
   * @param {number} count
   */
  go(count) {
    const { state, notice, list } = this.view;
    const then = count >= this.#log.size ? null : Math.max(0, count);
    const before = state.moment;
    if (then === (before?.count ?? null)) return this.show();
    if (!before) this.view.leaf.label.close();
    const now = performance.now();
    this.rushed = now - this.moved < QUIET;
    this.moved = now;
    if (!this.rushed) list.startGlide();
    state.setTime(then);
    if (!before) notice.say(LOOKING);
    else if (then === null) notice.say("Now again: the tree as it is.");
    this.view.refresh({ layout: true });
    this.show();
  }

  /** @param {1|-1} by */
  step(by) {
    if (!this.open) this.toggle();
    this.go((this.view.state.moment?.count ?? this.#log.size) + by);
  }

  play() {
    if (!this.view.state.moment) this.go(0);
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const { every, each } = pace(this.#log.size, calm);
    const [began, from] = [performance.now(), this.view.state.moment?.count ?? 0];
    // By the clock, not step by step: a slow browser shows fewer pictures, and takes no longer.
    this.timer = window.setInterval(() => this.#playTo(from + Math.round((performance.now() - began) / each)), every);
    this.show();
  }

  /** @param {number} count */
  #playTo(count) {
    this.go(count);
    if (!this.view.state.moment) this.pause();
  }

  pause() {
    if (!this.timer) return;
    clearInterval(this.timer);
    this.timer = 0;
    this.show();
  }

  /** The log is another one. */
  reset() {
    this.pause();
    this.view.state.setTime(null);
  }

  /** Show the line of the log that this moment came with; it changes with the moment. */
  #entry() {
    const { state, lens, panel } = this.view;
    state.follows = true;
    state.focus = state.leaf;
    if (!this.view.open) lens.togglePanel();
    panel.choose("entry");
    this.view.refresh();
  }

  show() {
    if (!this.open) return;
    const { state } = this.view;
    const count = state.moment?.count ?? null;
    this.strip.show({ count, total: this.#log.size, ...this.#words(count), playing: this.timer !== 0, moves: this.#log.moves });
  }

  /** @param {number|null} count */
  #words(count) {
    if (count === null) return { text: HOW, time: "" };
    const row = this.#log.rows[count - 1];
    if (!row) return { text: "the session, before its first entry", time: "" };
    const { tree } = this.view.state;
    return { text: told(row, (id) => tree.rows[tree.node(id)]), time: clock(row.time) };
  }
}
