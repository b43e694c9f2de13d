/** The prompt box at the leaf: it asks, speaks to a run that goes on, and stops it. */

import { h, icon, ICONS, setAttr, setText } from "./dom.js";
import { keyed, speech } from "./speaking.js";
import { quote } from "./wording.js";

/**
 * @typedef {import("./store.js").Store} Store
 * @typedef {import("./speaking.js").Speech} Speech
 *
 * @typedef {object} Hooks
 * @property {() => void} leave    The keyboard goes back to the tree.
 * @property {(text: string) => void} copyCell
 * @property {() => void} asked    A prompt is under way.
 * @property {() => boolean} past  The tree is shown as it was, not as it is.
 */

const MOST = 9; // lines before the box scrolls
/** @type {Record<string, string>} */
const NAMES = { prompt: "Not asked", steer: "Not said", followup: "Not queued", next: "Not kept" };

export class Composer {
  /**
   * @param {Store} store
   * @param {Hooks} hooks
   */
  constructor(store, hooks) {
    this.store = store;
    this.hooks = hooks;
    this.slim = false;
    /** Why the last try failed; the text is still here. */ this.failure = "";
    this.area = h("textarea", { class: "pt-ask", rows: "1", "aria-label": "Prompt", spellcheck: "true" });
    this.dot = h("span", { class: "pt-askdot", "aria-hidden": "true" });
    this.ask = button("Ask", "pt-button", "Ask at the leaf (Enter)", () => void this.send("prompt"));
    this.steer = button("Steer", "pt-button", "Say it before the next answer of the run (Enter)", () => void this.send("steer"));
    this.follow = button("Follow up", "pt-button pt-quietly", "Ask it when the run would stop (Alt+Enter)", () => void this.send("followup"));
    this.later = button("Next", "pt-button pt-quietly", "Keep it for the next prompt, and say it in front of that", () => void this.send("next"));
    this.stop = button("Stop", "pt-button pt-stop", "Stop the run; what has arrived is kept", () => void this.#abort());
    this.cell = h("button", { class: "pt-btn", type: "button", title: "Copy as %%pi cell", "aria-label": "Copy as %%pi cell", onclick: () => hooks.copyCell(this.area.value) });
    this.cell.append(icon(ICONS.copy));
    this.queue = h("ul", { class: "pt-queue", "aria-label": "Waits to be said", hidden: true });
    this.doing = h("span", { class: "pt-doing" });
    this.wrong = h("span", { class: "pt-wrong", role: "alert" });
    this.other = h("button", { class: "pt-other", type: "button", hidden: true, onclick: () => this.#swap() });
    this.drop = h("button", { class: "pt-other pt-drop", type: "button", text: "×", title: "Forget it", "aria-label": "Forget the other text", hidden: true, onclick: () => store.draft.drop() });
    this.foot = h("div", { class: "pt-askfoot" }, this.doing, this.wrong, this.other, this.drop);
    const box = h("div", { class: "pt-askbox" }, this.dot, this.area, h("div", { class: "pt-askdo" }, this.cell, this.ask, this.later, this.follow, this.steer, this.stop));
    box.addEventListener("click", (event) => event.target === box && this.area.focus());
    this.root = h("section", { class: "pt-compose", "aria-label": "Prompt at the leaf", hidden: true }, this.queue, box, this.foot);
    this.area.addEventListener("input", () => this.store.draft.type(this.area.value));
    this.area.addEventListener("keydown", (event) => this.#key(event));
    this.off = store.draft.subscribe(() => this.show());
    this.fitted = "";
    this.width = 0;
  }

  close() {
    this.off();
  }

  /** @returns {Speech} */
  get speech() {
    const { agent, status, link } = this.store;
    return speech({ agent, status, link, past: this.hooks.past() }, this.slim);
  }

  /** Show how things stand. */
  show() {
    const now = this.speech;
    const { draft } = this.store;
    this.root.hidden = now.mode === "none";
    if (now.mode === "none") return;
    setAttr(this.root, "data-mode", now.mode);
    if (this.area.value !== draft.text) this.area.value = draft.text;
    setAttr(this.area, "placeholder", now.hint);
    this.area.disabled = now.mode === "off" && this.store.status === "read-only";
    this.#buttons(now);
    this.#queue();
    this.#foot(now);
    this.#fit();
  }

  /** @param {Speech} now */
  #buttons({ mode }) {
    const { draft } = this.store;
    const idle = draft.empty;
    this.ask.hidden = mode !== "ask" && mode !== "off";
    this.steer.hidden = this.follow.hidden = this.later.hidden = mode !== "run";
    this.stop.hidden = mode !== "run" && mode !== "busy";
    this.ask.disabled = idle || mode === "off";
    this.steer.disabled = this.follow.disabled = this.later.disabled = idle;
    this.cell.hidden = draft.empty;
  }

  #queue() {
    const { agent, draft } = this.store;
    const waiting = [
      ...draft.posted.map(({ text }) => ["sending", text]),
      ...(agent?.steer ?? []).map((text) => ["steer", text]),
      ...(agent?.follow_up ?? []).map((text) => ["then", text]),
      ...(agent?.next_turn ?? []).map((text) => ["with the next prompt", text]),
    ];
    const back = agent?.steer.length || agent?.follow_up.length;
    this.queue.hidden = !waiting.length;
    const key = JSON.stringify(waiting);
    if (this.queue.dataset.key === key) return;
    this.queue.dataset.key = key;
    const items = waiting.map(([when, text]) => h("li", { "data-when": when }, h("b", { text: when }), h("span", { text: quote(text, 90) })));
    if (back) items.at(-1)?.append(h("button", { class: "pt-other", type: "button", text: "take back", title: "Put what waits back into the box", onclick: () => void this.#do("takeback", "Not taken back") }));
    this.queue.replaceChildren(...items);
  }

  /** @param {Speech} now */
  #foot(now) {
    const { agent, draft } = this.store;
    const failed = this.failure || agent?.problem || "";
    setText(this.wrong, failed);
    setText(this.doing, failed && now.mode === "ask" ? "" : now.why);
    this.other.hidden = this.drop.hidden = !draft.kept.length;
    setText(this.other, draft.kept.length ? `Use ${quote(draft.kept[draft.kept.length - 1], this.slim ? 24 : 60)} instead` : "");
    this.foot.hidden = !this.doing.textContent && !failed && !draft.kept.length;
  }

  /** As high as its lines. */
  #fit() {
    const key = `${this.width}|${this.area.value}`;
    if (key === this.fitted) return; // asking for the height makes the browser lay out the page
    this.fitted = key;
    this.area.style.height = "";
    const line = 20;
    const height = Math.min(this.area.scrollHeight, MOST * line + 8);
    this.area.style.height = this.area.value ? `${height}px` : "";
  }

  /**
   * @param {string} size
   * @param {number} width  px
   */
  resized(size, width) {
    if (width === this.width) return;
    this.width = width;
    this.slim = size === "slim" || size === "narrow";
    this.show();
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    event.stopPropagation();
    const does = keyed(event, this.speech.mode);
    if (!does) return;
    event.preventDefault();
    if (does === "leave") return this.hooks.leave();
    void this.send(does);
  }

  /** Put the keyboard into the box, at the end of its text. */
  focus() {
    this.area.focus({ preventScroll: false });
    this.area.setSelectionRange(this.area.value.length, this.area.value.length);
  }

  #swap() {
    this.store.draft.swap();
    this.focus();
  }

  /** @param {"prompt"|"steer"|"followup"|"next"} op */
  async send(op) {
    const { draft } = this.store;
    const { mode } = this.speech;
    if (draft.empty) return;
    if (mode === "off" || mode === "busy") return this.#failed(mode === "off" ? "Nothing can be asked now; the text stays here." : "Something is going on; the text stays here until that has ended or is stopped.");
    const posted = draft.post(op);
    this.failure = "";
    this.show();
    this.hooks.asked();
    try {
      await this.store.request(op, { text: posted.text });
      draft.arrived(posted);
    } catch (error) {
      this.failure = `${NAMES[op]}: ${/** @type {Error} */ (error).message}`;
      draft.refused(posted);
    }
  }

  /** @param {string} text */
  #failed(text) {
    this.failure = text;
    this.show();
  }

  async #abort() {
    this.stop.disabled = true;
    await this.#do("abort", "Not stopped");
    this.stop.disabled = false;
    this.area.focus({ preventScroll: true });
  }

  /**
   * @param {string} op
   * @param {string} what
   */
  async #do(op, what) {
    try {
      await this.store.request(op);
      this.failure = "";
    } catch (error) {
      this.failure = `${what}: ${/** @type {Error} */ (error).message}`;
    }
    this.show();
  }
}

/**
 * @param {string} text
 * @param {string} kind
 * @param {string} title
 * @param {() => void} onclick
 */
function button(text, kind, title, onclick) {
  return h("button", { class: kind, type: "button", text, title, onclick });
}
