/**
 * Which cell of the page wrote a prompt. The page tells no cell's id: what it shows is the number before a cell and the
 * text in it. A cell that was run again has another number, which is that of the newest prompt it wrote. `which` is pure.
 */

/**
 * @typedef {import("./types.js").Row} Row
 * @typedef {{number: string, text: string}} Seen  A cell as the page shows it.
 */

const ENOUGH = 160; // characters of a prompt that name it

/** @param {string} text */
const bare = (text) => text.replace(/…$/, "").replace(/\s+/g, "").slice(0, ENOUGH);

/**
 * @param {Row} row
 * @param {Row[]} rows    All of the log.
 * @param {Seen[]} seen   The page's cells, from top to bottom.
 * @returns {number} Place in `seen`; -1 if none of them is it.
 */
export function which(row, rows, seen) {
  const same = rows.filter((other) => other === row || (row.cell_id !== undefined && other.cell_id === row.cell_id && other.role === "user"));
  const asked = same.reverse().map((other) => ({ number: other.cell, text: bare(other.text) }));
  const cells = seen.map(({ number, text }) => ({ number, text: text.replace(/\s+/g, "") }));
  const find = (/** @type {(cell: Seen, of: {number?: string, text: string}) => boolean} */ fits) => {
    for (const of of asked) {
      const at = cells.findLastIndex((cell) => fits(cell, of));
      if (at >= 0) return at;
    }
    return -1;
  };
  const both = find((cell, of) => cell.number === of.number && cell.text.includes(of.text));
  if (both >= 0) return both;
  const text = find((cell, of) => of.text.length > 0 && cell.text.startsWith("%") && cell.text.includes(of.text));
  return text >= 0 ? text : find((cell, of) => cell.number === of.number && cell.text.startsWith("%%pi"));
}

const CELL = ".jp-CodeCell";
const FLASH = 1600; // ms

/** @returns {HTMLElement[]} Cells of the notebooks in this page, that which `near` is in first. @param {Element} near */
function cellsOf(near) {
  const book = near.closest(".jp-Notebook");
  return [...(book ?? document).querySelectorAll(CELL)].filter((el) => el instanceof HTMLElement);
}

/** @param {HTMLElement} cell @returns {Seen} */
function look(cell) {
  const prompt = cell.querySelector(".jp-InputArea-prompt")?.textContent ?? "";
  const lines = [...cell.querySelectorAll(".jp-InputArea .cm-line")].map((line) => line.textContent);
  return { number: prompt.match(/\[(\d+)\]/)?.[1] ?? "", text: lines.join("\n") };
}

/**
 * Bring the cell that wrote a prompt into view.
 * @param {Row} row
 * @param {Row[]} rows
 * @param {Element} near
 * @returns {"here"|"gone"|"none"}  none: this page shows no cells at all.
 */
export function goToCell(row, rows, near) {
  const cells = cellsOf(near);
  if (!cells.length) return "none";
  const at = which(row, rows, cells.map(look));
  if (at < 0) return "gone";
  const cell = cells[at];
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  cell.scrollIntoView({ block: "center", behavior: calm ? "instant" : "smooth" });
  cell.focus({ preventScroll: true });
  cell.animate?.([{ outline: "3px solid #2f5fe0", outlineOffset: "2px" }, { outline: "3px solid transparent", outlineOffset: "6px" }], { duration: FLASH, easing: "ease-out" });
  return "here";
}
