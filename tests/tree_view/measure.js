// Measures one view in its page; see measure_tree_view.py.
window.answering = (model, rows, leaf) => {
  const byId = new Map(rows.map((row) => [row.id, row]));
  model.send = (ask) => setTimeout(() => {
    if (ask.op === "sync") {
      const to = Math.min(rows.length, ask.have + 4000);
      model.take({method: "custom", content: {op: "delta", epoch: "e", from: ask.have, to, total: rows.length,
        rows: rows.slice(ask.have, to), leaf: rows.leaf ?? leaf, labels: {}, name: null, session: "bench", file: null}});
    }
    if (ask.op === "context") {
      const path = [];
      for (let row = byId.get(ask.entry); row; row = byId.get(row.parent)) path.push(row);
      const said = path.filter((row) => row.type === "message");
      model.take({method: "custom", content: {op: "ack", id: ask.id, entry: ask.entry, total: said.length, tokens: 1, left_out: [],
        items: said.slice(0, 60).reverse().map((row) => ({id: row.id, role: row.role, text: row.text.repeat(8), tokens: 5}))}});
    }
  });
};
window.painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
window.measure = async ({rows, leaf, more}) => {
  const widget = (await import("/tree.js")).default;
  const model = makeModel({rev: rows.length, status: "idle", key: "k", epoch: "e"});
  answering(model, rows, leaf);
  const out = {script: []};
  const frame = window.requestAnimationFrame.bind(window);
  let spent = 0;
  window.requestAnimationFrame = (call) => frame((now) => { const t = performance.now(); call(now); spent += performance.now() - t; });
  await painted();
  let start = performance.now();
  widget.initialize({model});
  widget.render({model, el: document.getElementById("here")});
  while (!document.querySelector(".pt-t-assistant, .pt-t-user")) await painted();
  out.first_rows = performance.now() - start;
  while (!document.querySelector(".pt-numbers").textContent.startsWith(rows.length.toLocaleString("en")) ||
         document.querySelector(".pt-numbers").textContent.includes("loading")) await painted();
  out.everything = performance.now() - start;
  const scroller = document.querySelector(".pt-rows");
  const frames = [];
  const end = scroller.scrollHeight - scroller.clientHeight;
  for (let i = 0; i < 120; i++) {
    start = performance.now();
    scroller.scrollTop = (end * ((i * 37) % 120)) / 120;
    await painted();
    frames.push(performance.now() - start);
  }
  out.scroll = frames;
  document.querySelector(".pt-btn:nth-child(2)").click();
  await painted();
  out.append = [];
  for (const row of more) {
    rows.push(row); rows.leaf = row.id;
    spent = 0;
    start = performance.now();
    model.take({method: "update", state: {rev: rows.length}});
    while (!document.querySelector(`.pt-leaf .pt-text`)?.textContent.includes(row.text.slice(0, 30))) await painted();
    out.append.push(performance.now() - start);
    out.script.push(spent);
    await new Promise((done) => setTimeout(done, 60));
  }
  out.focus = [];
  scroller.focus();
  for (let i = 0; i < 30; i++) {
    const before = document.querySelector(".pt-pwhere").textContent;
    start = performance.now();
    scroller.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowUp", bubbles: true}));
    while (document.querySelector(".pt-pwhere").textContent === before || document.querySelector(".pt-sketch")) await painted();
    out.focus.push(performance.now() - start);
  }
  out.search = [];
  const field = document.querySelector(".pt-search");
  for (const word of ["offset", "branch leaf", "prompt", "token", "answer cache", "7", "context"]) {
    start = performance.now();
    field.value = word;
    field.dispatchEvent(new Event("input", {bubbles: true}));
    while (!document.querySelector(".pt-count").textContent || !document.querySelector(".pt-hit, .pt-dim")) await painted();
    await painted();
    out.search.push(performance.now() - start);
    field.value = "";
    field.dispatchEvent(new Event("input", {bubbles: true}));
    await painted();
  }
  out.elements = document.querySelectorAll("*").length;
  return out;
};
