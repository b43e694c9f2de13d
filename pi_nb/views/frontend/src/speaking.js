/** What the prompt box is for at this moment, and what it says. Pure. */

/**
 * @typedef {import("./types.js").AgentState} AgentState
 *
 * @typedef {object} Situation
 * @property {AgentState|null} agent
 * @property {string} status   Of the view: idle, running, read-only.
 * @property {string} link     ok, busy, silent, closed.
 * @property {boolean} [past]  The tree is shown as it was.
 *
 * @typedef {object} Speech
 * @property {"none"|"ask"|"run"|"busy"|"off"} mode  none: there is no box; off: nothing can be said, and why; busy:
 *   something goes on that can be stopped, not spoken to.
 * @property {string} hint   The placeholder.
 * @property {string} why    What keeps it from being sent, or what goes on; empty if nothing.
 */

export const KEYS = "Enter sends, Shift+Enter makes a new line";

/**
 * @param {Situation} now
 * @param {boolean} [slim]  There is room for a few words only.
 * @returns {Speech}
 */
export function speech({ agent, status, link, past = false }, slim = false) {
  if (!agent) return { mode: "none", hint: "", why: "" };
  if (status === "read-only") return { mode: "off", hint: "Read-only here", why: "Somebody else writes this session. %pi_session fork goes on in a copy." };
  if (link === "closed") return { mode: "off", hint: "Not connected to a kernel", why: "No kernel: what you write stays here." };
  if (agent.phase === "run") return { mode: "run", hint: slim ? "Speak to the run" : "Speak to the run: Enter, before its next answer; Alt+Enter, when it would stop", why: agent.doing };
  if (agent.phase === "summary") return { mode: "busy", hint: asking(slim), why: agent.doing || "summarising the branch that was left" };
  if (status === "running") return { mode: "busy", hint: asking(slim), why: "several answers are being written at once" };
  if (past) return { mode: "off", hint: asking(slim), why: "This is the tree as it was. Now, or Esc in the tree, comes back to where a prompt can be asked." };
  return { mode: "ask", hint: asking(slim), why: "" };
}

/** @param {boolean} slim */
const asking = (slim) => (slim ? "Ask at the leaf" : `Ask at the leaf. ${KEYS}`);

/**
 * What a key does in the box.
 * @param {{key: string, shiftKey: boolean, altKey: boolean, ctrlKey: boolean, metaKey: boolean, isComposing?: boolean}} event
 * @param {Speech["mode"]} mode
 * @returns {"prompt"|"steer"|"followup"|"leave"|null}
 */
export function keyed(event, mode) {
  if (event.isComposing) return null; // an input method's Enter ends a word, not a prompt
  if (event.key === "Escape") return "leave";
  if (event.key !== "Enter" || event.shiftKey) return null;
  if (mode === "run") return event.altKey ? "followup" : "steer";
  return "prompt";
}

/**
 * The cell that asks the same.
 * @param {string} text
 */
export function asCell(text) {
  const raw = text.includes("$`"); // would be evaluated; this is what came of it
  return `%%pi${raw ? " --raw" : ""}\n${text}`;
}

/**
 * Text of the user's message in an entry's line.
 * @param {string} raw
 * @returns {string|null}
 */
export function promptIn(raw) {
  try {
    const { message } = JSON.parse(raw);
    if (message.role !== "user") return null;
    if (typeof message.content === "string") return message.content;
    return message.content.filter((/** @type {any} */ block) => block.type === "text").map((/** @type {any} */ block) => block.text).join("");
  } catch {
    return null;
  }
}
