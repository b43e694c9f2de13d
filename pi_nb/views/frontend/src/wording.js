/** What a row says: every word people read about an entry is chosen here. Pure; returns text, never HTML. */

/**
 * @typedef {import("./types.js").Row} Row
 *
 * @typedef {object} Wording
 * @property {string} who     Short name in the role column.
 * @property {string} tone    Colour of the role: user, assistant, tool, summary, note, error.
 * @property {string} text
 * @property {string} [faint] Shown instead of an empty text.
 * @property {{name: string, text: string}[]} calls
 * @property {boolean} quiet  Not a message: small and grey.
 */

// Maps, because any word may stand in a file, also one that every object knows.
/** @type {Map<string, [string, string]>} */
const ROLES = new Map(Object.entries({
  user: ["user", "user"],
  assistant: ["assistant", "assistant"],
  toolResult: ["result", "tool"],
  bashExecution: ["shell", "tool"],
  custom: ["note", "note"],
  system: ["system", "note"],
  branchSummary: ["summary", "summary"],
  compactionSummary: ["summary", "summary"],
}));

/** @type {Map<string, string>} */
const KINDS = new Map(Object.entries({
  model_change: "model",
  thinking_level_change: "thinking",
  active_tools_change: "tools",
  compaction: "compaction",
  branch_summary: "summary",
  custom_message: "note",
  custom: "custom",
  label: "label",
  session_info: "name",
  leaf: "leaf moved",
  context_edit: "edit",
  usage: "usage",
}));

const SPOKEN = new Set(["user", "assistant", "summary"]); // tones of what is written as Markdown
const LOUD = new Set(["message", "custom_message", "compaction", "branch_summary"]);

/**
 * @param {Row} row
 * @returns {Wording}
 */
export function wording(row) {
  const calls = (row.tools ?? []).map((name, i) => ({ name, text: row.calls?.[i] ?? "" }));
  const [who, tone] = role(row);
  const said = SPOKEN.has(tone) ? reading(row.text) : row.text;
  const text = row.error && !row.text ? row.error : said;
  return { who, tone: row.error ? "error" : tone, text, faint: faint(row, text, calls.length), calls, quiet: !LOUD.has(row.type) };
}

/**
 * @param {Row} row
 * @returns {[string, string]}
 */
function role(row) {
  if (row.type === "message") return ROLES.get(row.role ?? "") ?? [row.role || "message", "note"];
  const summary = row.type === "compaction" || row.type === "branch_summary";
  return [KINDS.get(row.type) ?? row.type, summary ? "summary" : "note"];
}

/**
 * @param {Row} row
 * @param {string} text
 * @param {number} calls
 */
function faint(row, text, calls) {
  if (text || calls) return undefined;
  if (row.note) return `(${row.note})`;
  return row.thinking ? "(thinking only)" : "(empty)";
}

/**
 * 950 -> "950", 12345 -> "12.3k".
 * @param {number|undefined} n
 */
export function count(n) {
  if (n == null) return "";
  if (n < 1000) return String(Math.round(n));
  if (n < 1e6) return `${(n / 1000).toFixed(n < 99950 ? 1 : 0).replace(/\.0$/, "")}k`;
  return `${(n / 1e6).toFixed(1).replace(/\.0$/, "")}M`;
}

/**
 * 12345 -> "12,345".
 * @param {number} n
 */
export const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** @param {number|undefined} dollars */
export function money(dollars) {
  if (!dollars) return "";
  if (dollars >= 0.995) return `$${dollars.toFixed(2)}`;
  return dollars >= 0.0005 ? `$${dollars.toFixed(3)}` : "<$0.001";
}

/**
 * Time of day for today's entries, else the date too; empty if it is not a time.
 * @param {string|undefined} iso
 * @param {Date} [now]
 */
export function clock(iso, now = new Date()) {
  const at = new Date(iso ?? "");
  if (Number.isNaN(at.getTime())) return "";
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return at.toDateString() === now.toDateString() ? time : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/**
 * A quoted piece of text for a sentence.
 * @param {string} text
 * @param {number} [max]
 */
export function quote(text, max = 48) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > max ? `“${line.slice(0, max - 1).trimEnd()}…”` : `“${line}”`;
}

/** @param {string} id */
export const short = (id) => (id.length > 10 ? id.slice(0, 8) : id);

/**
 * A session's id as people see and type it: its end, because ids made within hours begin alike.
 * @param {string} id
 */
export const shortSession = (id) => id.slice(-8);

const BOLD = /(?<![\w*])\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*(?![\w*])/g;
const CODE = /(?<![\w`])`([^`]+)`(?![\w`])/g;
const HEADING = /(?<!\S)#{1,6} (?=\S)/g;

/**
 * Markdown without the marks that only a renderer needs: bold, code quotes, headings.
 * @param {string} text
 */
export const reading = (text) => text.replace(BOLD, "$1").replace(CODE, "$1").replace(HEADING, "");
