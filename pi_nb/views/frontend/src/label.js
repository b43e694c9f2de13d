/** Editing a label in its row. */

import { h } from "./dom.js";

/** @typedef {import("./rows.js").RowList} RowList */

export class LabelEditor {
  /**
   * @param {RowList} list
   * @param {(node: number, text: string) => void} done
   */
  constructor(list, done) {
    this.list = list;
    this.done = done;
    /** @type {HTMLInputElement|null} */ this.input = null;
  }

  get open() {
    return this.input !== null;
  }

  /**
   * @param {number} node
   * @param {string} text
   */
  edit(node, text) {
    const row = this.list.shown.get(node);
    if (!row) return;
    this.close();
    const input = h("input", { class: "pt-rename", "aria-label": "Label", placeholder: "label", maxlength: "60", spellcheck: "false" });
    input.value = text;
    this.input = input;
    input.addEventListener("keydown", (event) => this.#key(event, node));
    input.addEventListener("blur", () => this.close());
    row.root.append(input);
    input.focus();
    input.select();
  }

  /**
   * @param {KeyboardEvent} event
   * @param {number} node
   */
  #key(event, node) {
    event.stopPropagation();
    if (event.key === "Enter") this.done(node, this.input?.value ?? "");
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    this.close();
    this.list.scroller.focus();
  }

  close() {
    const { input } = this;
    this.input = null; // first: removing a focused element fires its blur
    input?.remove();
  }
}
