/** After a move: what was left behind, and the offer to take a summary of it along. */

import { h, setText } from "./dom.js";
import { count } from "./wording.js";

/**
 * @typedef {{from: string|null, at: string|null, messages: number, tokens: number}} Left
 *
 * @typedef {object} Hooks
 * @property {(left: Left, instructions: string) => Promise<string>} summarise  Gives why not, or nothing.
 * @property {() => void} never
 * @property {() => void} done   The keyboard goes back to the tree.
 */

export class LeaveBar {
  /** @param {Hooks} hooks */
  constructor(hooks) {
    this.hooks = hooks;
    /** @type {Left|null} */ this.left = null;
    this.busy = false;
    this.text = h("span", { class: "pt-lefttext" });
    this.here = h("button", { class: "pt-button", type: "button", text: "Summarise here", title: "Have the model sum up what was left; the summary goes under the leaf (s)", onclick: () => void this.#go("") });
    this.how = h("button", { class: "pt-button pt-quietly", type: "button", text: "with instructions …", title: "Say what the summary should look at", "aria-expanded": "false", onclick: () => this.#ask() });
    this.never = h("button", { class: "pt-button pt-plain", type: "button", text: "Never ask", title: "Not in this view any more; s still offers it", onclick: () => this.#never() });
    this.away = h("button", { class: "pt-btn pt-away", type: "button", text: "×", title: "Just go (Escape)", "aria-label": "Just go", onclick: () => this.#away() });
    this.field = h("input", { class: "pt-instruct", type: "text", hidden: true, placeholder: "What should the summary look at? Enter sums up", "aria-label": "Instructions for the summary", maxlength: "2000" });
    this.field.addEventListener("keydown", (event) => this.#key(event));
    this.choices = h("div", { class: "pt-leavedo" }, this.here, this.how, this.never, this.away);
    this.root = h("section", { class: "pt-leave", "aria-label": "What was left behind", hidden: true }, this.text, this.field, this.choices);
    this.root.addEventListener("keydown", (event) => event.key === "Escape" && (event.stopPropagation(), this.#away()));
  }

  get open() {
    return !this.root.hidden;
  }

  /** @param {Left} left */
  show(left) {
    this.left = left;
    const size = left.tokens ? `, about ${count(left.tokens)} tokens` : "";
    setText(this.text, `Left behind: ${number(left)}${size}.`);
    this.#expand(false);
    this.#lock(false);
    this.root.hidden = false;
  }

  hide() {
    this.root.hidden = true;
    this.left = null;
  }

  /** The keyboard goes to the first choice. */
  focus() {
    this.here.focus();
  }

  #away() {
    this.hide();
    this.hooks.done();
  }

  #never() {
    this.hide();
    this.hooks.never();
    this.hooks.done();
  }

  /** @param {boolean} on */
  #expand(on) {
    this.field.hidden = !on;
    this.how.hidden = on;
    this.how.setAttribute("aria-expanded", String(on));
    if (!on) this.field.value = "";
  }

  #ask() {
    this.#expand(true);
    this.field.focus();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Escape") return;
    event.stopPropagation();
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    void this.#go(this.field.value);
  }

  /** A summary is under way. @param {boolean} on */
  #lock(on) {
    this.busy = on;
    this.choices.hidden = on;
    if (on) this.field.hidden = true;
  }

  /** @param {string} instructions */
  async #go(instructions) {
    const { left } = this;
    if (!left || this.busy) return;
    const given = (instructions || this.field.value).trim();
    this.#lock(true);
    setText(this.text, `Summarising the ${number(left)} left behind …`);
    const why = await this.hooks.summarise(left, given);
    this.#lock(false);
    const at = document.activeElement;
    if (!at || at === document.body) this.hooks.done(); // the button that had the keyboard is gone
    if (this.left !== left) return; // the leaf has moved on
    if (!why) return this.#away();
    setText(this.text, why);
    this.field.hidden = !given; // what was typed is still there
  }
}

/** @param {Left} left */
const number = ({ messages }) => (messages === 1 ? "one message" : `${messages} messages`);
