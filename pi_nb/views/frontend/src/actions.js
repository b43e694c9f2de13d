/** What can be done with an entry, or with the session, beside moving the leaf to it. Pure. */

/**
 * @typedef {import("./types.js").Row} Row
 *
 * @typedef {object} Ground
 * @property {boolean} agent    Somebody has a harness behind this view.
 * @property {boolean} notebook The view stands in a notebook, not in a page of its own.
 * @property {boolean} kernel   It is connected.
 * @property {string} refusal   Why the leaf cannot be moved there now; empty if it can.
 * @property {string} leaving   Why what was left cannot be summarised; empty if it can.
 *
 * @typedef {"checkout"|"look"|"copycell"|"copytext"|"cell"|"label"|"compare"|"forkat"|"forkbefore"|"forkwhole"|"download"|"export"|"summarise"} Deed
 * @typedef {{deed: Deed, text: string, key?: string, why?: string, begins?: boolean}} Offer
 */

const NO_AGENT = "There is no agent behind this view; %pi_tree shows one";
const NO_KERNEL = "There is no connection to a kernel";

/**
 * @param {Row|null} row  Null for the session itself.
 * @param {Ground} ground
 * @returns {Offer[]}
 */
export function offersFor(row, ground) {
  return [...(row ? ofEntry(row, ground) : []), ...ofSession(ground, !!row)];
}

/**
 * @param {Row} row
 * @param {Ground} ground
 * @returns {Offer[]}
 */
function ofEntry(row, ground) {
  const prompt = row.role === "user";
  const agent = need(ground);
  /** @type {(Offer|false)[]} */
  const offers = [
    { deed: "checkout", text: prompt ? "Go before this prompt, edit its text" : "Move the leaf here", key: "Enter", why: ground.refusal || undefined },
    { deed: "compare", text: "Compare", key: "c" },
    { deed: "label", text: "Label …", key: "l", why: ground.refusal.startsWith("This session") ? ground.refusal : undefined },
    ground.notebook && row.cell !== undefined && { deed: "cell", text: `Go to cell [${row.cell}]`, key: "g" },
    prompt && { deed: "copycell", text: "Copy as %%pi cell", key: "y", begins: true },
    { deed: "copytext", text: "Copy its text", begins: !prompt },
    { deed: "forkat", text: "Fork: the path to here", begins: true, why: agent },
    prompt && { deed: "forkbefore", text: "Fork: the path to before this prompt", why: agent },
  ];
  return offers.filter((offer) => offer !== false);
}

/**
 * @param {Ground} ground
 * @param {boolean} below  Entries of a menu stand above.
 * @returns {Offer[]}
 */
function ofSession(ground, below) {
  const agent = need(ground);
  return [
    { deed: "forkwhole", text: "Fork: the whole session", why: agent, begins: false },
    { deed: "download", text: "Download as a page", why: agent, begins: below },
    { deed: "export", text: "Write the page beside the notebook", why: agent },
  ];
}

/** @param {Ground} ground */
const need = (ground) => (!ground.agent ? NO_AGENT : !ground.kernel ? NO_KERNEL : undefined);
