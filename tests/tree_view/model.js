// The page's side of a widget model: it keeps what the view says and hands on what the kernel says.
window.makeModel = (state) => {
  const handlers = {};
  const fire = (name, ...args) => [...(handlers[name] ?? [])].forEach((handler) => handler(...args));
  const model = {
    out: [], fire,
    get: (name) => state[name],
    on: (name, handler) => (handlers[name] ??= new Set()).add(handler),
    off: (name, handler) => handlers[name]?.delete(handler),
    send: (content) => {
      if (model.broken) throw new Error("comm closed");
      model.out.push(content);
    },
    count: () => Object.values(handlers).reduce((sum, set) => sum + set.size, 0),
    take: (message) => {
      if (message.method === "custom") return fire("msg:custom", message.content, []);
      for (const [name, value] of Object.entries(message.state)) {
        state[name] = value;
        fire(`change:${name}`, model, value);
      }
    },
  };
  return model;
};

// What the rows in view say, top down.
window.rowsInView = () => {
  const top = (row) => new DOMMatrix(row.style.transform).f; // where it belongs, also while it glides there
  const told = (cell) => /pt-(who|text|tags)/.test(cell.className);
  const rows = [...document.querySelectorAll("#here .pt-row")].sort((a, b) => top(a) - top(b));
  return rows.map((row) => [...row.children].filter(told).map((cell) => cell.textContent).join("|"));
};

// What the view has said, once it has drawn twice and its timers had their turn.
window.said = async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  await frame();
  await frame();
  return model.out.splice(0);
};
