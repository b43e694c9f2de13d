/** One message of a context as a card: its text cut to what there is room for, and a way to the rest. */

import { h, setText } from "./dom.js";
import { count, short, wording } from "./wording.js";

/** @typedef {import("./types.js").ContextItem} ContextItem */

/**
 * @param {ContextItem} item
 * @param {boolean} explain  Say of every message why it is sent, the ordinary ones too.
 * @param {(id: string|null) => void} look
 */
export function card(item, explain, look) {
  const said = wording({ id: item.id, parent: null, type: "message", role: item.role, text: item.text, error: item.error });
  const odd = item.why && (explain || item.why !== "kept") ? h("span", { class: item.why === "kept" ? "pt-faint" : "pt-why", text: item.why }) : null;
  const calls = (item.calls ?? []).map((call) => h("code", { class: "pt-call", text: call }));
  const id = h("button", { class: "pt-id", type: "button", title: "Look at this entry", text: short(item.id), onclick: () => look(item.id) });
  const words = h("div", { class: "pt-ctext", text: item.text + (item.more ? " …" : "") });
  const root = h("article", { class: `pt-card pt-t-${said.tone}`, "data-role": item.role },
    h("header", null, h("span", { class: "pt-who", text: said.who }), odd, h("span", { class: "pt-fill" }), id,
      h("span", { class: "pt-tok", text: item.tokens ? count(item.tokens) : "", title: "Tokens" })),
    ...(item.text ? [words] : []), ...calls, ...(item.error ? [h("div", { class: "pt-pfail", text: item.error })] : []));
  if (item.text) root.append(more(root));
  return root;
}

/** @param {HTMLElement} root */
function more(root) {
  const button = h("button", { class: "pt-more", type: "button", text: "more", "aria-expanded": "false" });
  button.addEventListener("click", () => {
    const whole = root.classList.toggle("pt-whole");
    setText(button, whole ? "less" : "more");
    button.setAttribute("aria-expanded", String(whole));
  });
  return button;
}

/**
 * Cut texts to a few lines and mark those that are cut. The last exchange is given all the room that it leaves in
 * view, the messages before it what is then still free; later messages first.
 * @param {HTMLElement} body  What the cards stand in; it may scroll.
 */
export function fit(body) {
  const cards = /** @type {HTMLElement[]} */ ([...body.querySelectorAll(":scope > .pt-card:not(.pt-whole):has(> .pt-ctext)")]).reverse();
  for (const el of cards) text(el).style.maxHeight = "";
  const first = lastPrompt(body);
  const later = cards.filter((el) => first && !(el.compareDocumentPosition(first) & Node.DOCUMENT_POSITION_FOLLOWING));
  share(later, body.clientHeight - heightFrom(body, first));
  share(cards, body.clientHeight - heightFrom(body, body.firstElementChild));
  for (const el of cards) el.classList.toggle("pt-cut", text(el).scrollHeight - text(el).clientHeight > 1);
}

/** @param {HTMLElement} el */
const text = (el) => /** @type {HTMLElement} */ (el.querySelector(":scope > .pt-ctext"));

/**
 * @param {HTMLElement[]} cards
 * @param {number} room  px
 */
function share(cards, room) {
  for (const el of cards) {
    const { clientHeight, scrollHeight } = text(el);
    const given = Math.min(room, scrollHeight - clientHeight);
    if (given <= 0) continue;
    text(el).style.maxHeight = `${clientHeight + given}px`;
    room -= given;
  }
}

/** @param {HTMLElement} body */
function lastPrompt(body) {
  return [...body.querySelectorAll(":scope > .pt-card[data-role=user]")].at(-1) ?? body.querySelector(":scope > .pt-card");
}

/**
 * Height of what stands from an element on, and the padding above and below it all.
 * @param {HTMLElement} body
 * @param {Element|null} first
 */
function heightFrom(body, first) {
  const last = [...body.children].filter((el) => el.getClientRects().length).at(-1);
  return first && last ? last.getBoundingClientRect().bottom - first.getBoundingClientRect().top + 20 : 0;
}

/**
 * Scroll so that the last exchange is seen from its beginning, and what stands before it as far as there is room.
 * @param {HTMLElement} body
 */
export function toLastExchange(body) {
  const first = lastPrompt(body);
  if (!first) return;
  const start = first.getBoundingClientRect().top - body.getBoundingClientRect().top + body.scrollTop;
  body.scrollTop = body.scrollHeight <= body.clientHeight ? 0 : start - 10;
}
