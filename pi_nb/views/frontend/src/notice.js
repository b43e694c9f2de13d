/** The line below the rows: what just happened, which log line it wrote, how the kernel is. */

import { h, setText } from "./dom.js";

/** @typedef {import("./store.js").Link} Link */

/** @type {Record<Link, string>} */
const LINKS = {
  ok: "",
  busy: "Kernel busy: queued, will happen as soon as it listens.",
  silent: "No answer from the kernel. If it was restarted, run %pi_tree again; what is shown may be old.",
  closed: "Not connected to a kernel: this is the tree as last seen. Run %pi_tree again.",
};

export class Notice {
  /** @param {(id: string) => void} look  Show an entry as it is in the log. */
  constructor(look) {
    /** Entry that was written. */ this.written = "";
    /** A move of the leaf that the text is about; the text is old when the log goes on. @type {{leaf: string|null, position: number}|null} */
    this.move = null;
    this.text = h("span", { class: "pt-said" });
    this.line = h("code", { class: "pt-written" });
    this.entry = h("button", { class: "pt-link-button", type: "button", text: "show the entry", onclick: () => look(this.written) });
    this.more = h("details", { class: "pt-wrote", hidden: true }, h("summary"), this.line, this.entry);
    this.link = h("span", { class: "pt-link" });
    this.root = h("div", { class: "pt-notice", role: "status", "aria-live": "polite" }, this.text, this.more, this.link);
  }

  /**
   * @param {string} text
   * @param {{summary: string, line: string, entry?: string}|null} [written]
   */
  say(text, written = null) {
    this.move = null;
    setText(this.text, text);
    this.more.hidden = !written;
    if (!written) return;
    setText(/** @type {HTMLElement} */ (this.more.firstChild), written.summary);
    setText(this.line, written.line);
    this.written = written.entry ?? "";
    this.entry.hidden = !this.written;
  }

  /**
   * Say where the leaf has moved, until it is elsewhere.
   * @param {string} text
   * @param {{leaf: string|null, position?: number, line?: string, line_number?: number|null, entry?: string}} answer
   * @param {{summary: string, line: string, entry?: string}|null} written
   */
  sayMoved(text, answer, written) {
    this.say(text, written);
    if (answer.position !== undefined) this.move = { leaf: answer.leaf, position: answer.position };
  }

  /**
   * The log has grown: what was said of a move before it does not hold any more.
   * @param {number} size
   * @param {string|null} leaf
   */
  grown(size, leaf) {
    if (this.move && size > this.move.position + 1 && leaf !== this.move.leaf) this.say("");
  }

  /** What was said does not hold any more, if it was one of these. @param {...string} texts */
  forget(...texts) {
    if (texts.includes(this.text.textContent ?? "")) this.say("");
  }

  /** @param {Link} link */
  setLink(link) {
    setText(this.link, LINKS[link]);
    this.root.dataset.link = link;
  }
}
