/**
 * May this tool call run? All of the call, and the answers as buttons. Text is set as text; nothing parses HTML.
 */

import { h } from "./dom.js";
import { followTheme } from "./theme.js";

/**
 * @typedef {{label: string, kind: string, text: string}} Block
 * @typedef {{call: string, tool: string, by: string, why: string, always: string, blocks: Block[]}} Question
 * @typedef {import("./types.js").Model} Model
 */

/**
 * Milliseconds after which something is said again, until the kernel has heard it. JupyterLab sends what is said before
 * it has got a subshell for this widget to the main shell, where it waits behind the running cell.
 */
const AGAIN = [0, 100, 250, 500, 1000, 2000, 3500, 5000, 8000, 12000];

/** Milliseconds after which the page says again that it is there. */
const ALIVE = 10_000;

/**
 * Say that this page is there, for as long as it is: while it is, the cell waits for it.
 *
 * @param {{model: Model, signal?: AbortSignal}} props
 */
function initialize({ model, signal }) {
  const { call } = /** @type {Question} */ (model.get("question"));
  const page = Math.random().toString(36).slice(2);
  const say = (/** @type {string} */ op) => {
    try {
      model.send({ op, call, page });
    } catch {
      // the kernel has gone
    }
  };
  const here = () => say("here");
  const gone = () => say("gone");
  const timers = [setInterval(here, ALIVE), ...AGAIN.slice(0, 6).map((wait) => setTimeout(here, wait))];
  window.addEventListener("pagehide", gone);
  window.addEventListener("pageshow", here);
  const cleanup = () => {
    for (const timer of timers) clearInterval(timer);
    window.removeEventListener("pagehide", gone);
    window.removeEventListener("pageshow", here);
  };
  signal?.addEventListener("abort", cleanup, { once: true });
  return cleanup;
}

/** @param {{model: Model, el: HTMLElement, signal?: AbortSignal}} props */
function render({ model, el, signal }) {
  const question = /** @type {Question} */ (model.get("question"));
  const tell = (/** @type {object} */ content) => model.send({ ...content, call: question.call });
  const card = h("section", { class: "pi-ask-card", role: "alertdialog", tabindex: "-1" });
  const title = h("h4", { class: "pa-title" }, "May ", h("code", { text: question.tool }), question.by ? ` run for ${question.by}?` : " run?");
  const why = h("p", { class: "pa-why", text: question.why });
  const foot = h("div", { class: "pa-foot" });
  label(card, title, why);
  card.append(title, why, ...question.blocks.map(blockOf), foot);
  const theme = followTheme(card);

  /** @type {ReturnType<typeof setTimeout>[]} */
  const timers = [];
  const insist = (/** @type {() => void} */ say) => timers.push(...AGAIN.map((wait) => setTimeout(say, wait)));
  const answer = (/** @type {object} */ given) => {
    insist(() => tell({ op: "answer", ...given })); // until the kernel closes the question
    foot.replaceChildren(h("span", { class: "pa-note", role: "status", text: "Answered." }));
  };
  const look = () => {
    const mode = model.get("mode");
    foot.replaceChildren(
      ...(mode === "line" ? [] : buttons(question, answer)),
      ...(mode === "ask" ? [] : [note(mode === "line" ? "Answer in the line below: y, a or n." : "Or answer in the line below.")]),
    );
  };
  look();
  model.on("change:mode", look);
  el.append(card);
  theme.look();
  const looking = setInterval(theme.look, 1000); // a theme's colours may come later than its name
  requestAnimationFrame(() => takeFocus(card));

  insist(() => model.get("heard") || tell({ op: "ready" }));
  const cleanup = () => {
    for (const timer of timers) clearTimeout(timer);
    clearInterval(looking);
    model.off("change:mode", look);
    theme.stop();
  };
  signal?.addEventListener("abort", cleanup, { once: true });
  return cleanup;
}

let names = 0;

/** Name and describe the card by what stands in it. @param {HTMLElement} card @param {...HTMLElement} parts */
function label(card, ...parts) {
  for (const part of parts) part.id = `pi-ask-${(names += 1)}`;
  card.setAttribute("aria-labelledby", parts[0].id);
  card.setAttribute("aria-describedby", parts[1].id);
}

/** @param {Question} question @param {(given: object) => void} answer */
export function buttons(question, answer) {
  const reason = h("input", {
    class: "pa-reason",
    type: "text",
    placeholder: "Why not? (the model is told)",
    "aria-label": "Why not? The model is told. Optional.",
  });
  const deny = () => answer({ allowed: false, always: false, reason: reason.value });
  reason.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Enter") deny();
  });
  const button = (/** @type {string} */ kind, /** @type {string} */ text, /** @type {() => void} */ act) =>
    h("button", { class: `pa-button pa-${kind}`, type: "button", text, onclick: act });
  return [
    h(
      "div",
      { class: "pa-row" },
      button("once", "Allow once", () => answer({ allowed: true, always: false })),
      button("always", "Always in this session", () => answer({ allowed: true, always: true })),
      h("span", { class: "pa-gap" }),
      reason,
      button("deny", "Deny", deny),
    ),
    h("p", { class: "pa-note" }, "Always means: ", h("b", { text: question.always }), "."),
  ];
}

/** @param {string} text */
function note(text) {
  return h("p", { class: "pa-note", text });
}

/** @param {Block} block */
export function blockOf(block) {
  const code = h("code", null);
  if (block.kind === "diff") code.append(...block.text.replace(/\n$/, "").split("\n").map(diffLine));
  else code.textContent = block.text;
  const pre = h("pre", { class: "pa-code", tabindex: "0", role: "region", "aria-label": block.label }, code);
  return h("div", { class: "pa-block" }, h("div", { class: "pa-label", text: block.label }), pre);
}

/** @param {string} line */
function diffLine(line) {
  const kind = line[0] === "+" ? "pa-added" : line[0] === "-" ? "pa-removed" : line[0] === "@" ? "pa-hunk" : "";
  return h("span", { class: `pa-line ${kind}`, text: `${line}\n` });
}

/** Take the keyboard if nobody is writing: if it is at the notebook or cell this is in, or nowhere. @param {HTMLElement} card */
function takeFocus(card) {
  const at = document.activeElement;
  const writes = at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
  if (!at || (at.contains(card) && !writes)) card.focus({ preventScroll: true });
}

export default { initialize, render };
