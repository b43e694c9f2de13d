/** The trail of the leaf on the screen: arcs beside the rows in view, and what they are in words. */

import { h, setAttr, setText, svg } from "./dom.js";
import { arcs, LAST, legend, trailPaths } from "./trail.js";

/**
 * @typedef {import("./state.js").ViewState} ViewState
 * @typedef {import("./lanes.js").Metrics} Metrics
 */

const WIDTH = { slim: 18, wide: 26 }; // px beside the lanes

export class Tracks {
  /**
   * @param {ViewState} state
   * @param {() => void} more  All are asked for, or only the last again.
   */
  constructor(state, more) {
    this.state = state;
    this.svg = svg("svg", { class: "pt-trail", "aria-hidden": "true" });
    this.paths = [3, 2, 1, 0].map((fade) => this.#pair(fade)).reverse(); // the newest lies on top
    this.text = h("span");
    this.more = h("button", { class: "pt-link-button", type: "button", onclick: more });
    this.legend = h("div", { class: "pt-legend", hidden: true }, this.text, this.more);
    /** @type {{layout: unknown, key: string, arcs: import("./trail.js").Arc[]}} */ this.known = { layout: null, key: "", arcs: [] };
  }

  /** @param {number} fade */
  #pair(fade) {
    const pair = { dots: svg("path", { class: `pt-step pt-fade${fade}` }), ends: svg("path", { class: `pt-end pt-fade${fade}` }) };
    this.svg.append(pair.dots, pair.ends);
    return pair;
  }

  /**
   * Room the trail takes left of the lanes, px. The past keeps it free, so that a jump shifts nothing.
   * @param {boolean} slim
   */
  room(slim) {
    const { trail, moment } = this.state;
    return trail === "off" && !moment ? 0 : slim ? WIDTH.slim : WIDTH.wide;
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {Metrics} metrics
   */
  draw(start, end, metrics) {
    const found = metrics.trail ? trailPaths(this.#arcs(), start, end, metrics) : [];
    this.svg.style.transform = `translateY(${start * metrics.row}px)`;
    setAttr(this.svg, "width", String(metrics.trail));
    setAttr(this.svg, "height", String((end - start + 1) * metrics.row));
    this.paths.forEach(({ dots, ends }, fade) => {
      setAttr(dots, "d", found[fade]?.dots ?? "");
      setAttr(ends, "d", found[fade]?.ends ?? "");
    });
  }

  #arcs() {
    const { layout, trail, moment, store } = this.state;
    const count = moment?.count ?? store.log.size;
    const key = `${count} ${trail}`;
    if (this.known.layout !== layout || this.known.key !== key) this.known = { layout, key, arcs: this.#work(count) };
    return this.known.arcs;
  }

  /** @param {number} count */
  #work(count) {
    const { layout, trail, store } = this.state;
    if (trail !== "off") return arcs(store.log, count, layout, trail === "all" ? Infinity : LAST);
    return store.log.moveAt(count) ? arcs(store.log, count, layout, 1) : []; // the jump that this moment is
  }

  /** Say what is drawn. */
  show() {
    const { trail, moment, store } = this.state;
    this.legend.hidden = trail === "off";
    if (trail === "off") return;
    const total = store.log.movesUpTo(moment?.count ?? store.log.size);
    setText(this.text, legend(total, trail === "all"));
    this.more.hidden = total <= LAST;
    setText(this.more, trail === "all" ? `only the last ${LAST}` : "show all");
  }
}
