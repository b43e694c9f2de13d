/** A tool call that waits for consent, asked in the tree. What it would do is shown whole, and as text. */

import { blockOf, buttons } from "./ask.js";
import { h } from "./dom.js";

/** @typedef {import("./ask.js").Question} Question */

export class QuestionCard {
  /** @param {(call: string, given: Record<string, unknown>) => Promise<void>} answer */
  constructor(answer) {
    this.answer = answer;
    this.key = "";
    this.root = h("section", { class: "pi-ask-card pt-question", role: "alertdialog", tabindex: "-1", "aria-label": "A tool call waits for your consent", hidden: true });
  }

  /**
   * @param {Question|null} question
   * @returns {boolean} Whether it is a new one.
   */
  show(question) {
    const key = question ? JSON.stringify(question) : "";
    if (key === this.key) return false;
    this.key = key;
    this.root.hidden = !question;
    if (!question) return this.root.replaceChildren(), false;
    const title = h("h4", { class: "pa-title" }, "May ", h("code", { text: question.tool }), question.by ? ` run for ${question.by}?` : " run?");
    const said = h("p", { class: "pa-note", role: "status" });
    const foot = h("div", { class: "pa-foot" });
    foot.append(...buttons(question, (given) => {
      for (const el of foot.querySelectorAll("button")) el.disabled = true;
      said.textContent = "Answered …";
      this.answer(question.call, /** @type {any} */ (given)).catch((error) => {
        for (const el of foot.querySelectorAll("button")) el.disabled = false;
        said.textContent = `Not answered: ${error.message}`;
      });
    }), said);
    this.root.replaceChildren(title, h("p", { class: "pa-why", text: question.why }), h("div", { class: "pt-questionbody" }, ...question.blocks.map(blockOf)), foot);
    return true;
  }
}
