// What one delta of a scripted answer costs in pi's harness:  node bench_harness.mjs NODE_MODULES DELTAS
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [modules, deltas] = process.argv.slice(2);
const pi = path.join(modules, "pi-harness");
const roots = [path.join(pi, "node_modules"), modules];
const load = (file) => import(pathToFileURL(file).href);
const core = await load(path.join(pi, "dist", "node.js"));
const ai = await load(
  roots.map((root) => path.join(root, "@earendil-works/pi-ai/dist/index.js")).find((file) => fs.existsSync(file)),
);

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "bench-"));
const env = new core.NodeExecutionEnv({ cwd: folder });
const session = await new core.JsonlSessionRepo({ fs: env, sessionsRoot: folder }).create({ cwd: folder });
const model = { id: "faux-1", reasoning: false, contextWindow: 10 ** 7, maxTokens: 10 ** 6 };
const faux = ai.fauxProvider({ provider: "faux", api: "faux", models: [model], tokenSize: { min: 4, max: 4 } });
const models = ai.createModels();
models.setProvider(faux.provider);
const content = [{ type: "text", text: "x".repeat(16 * Number(deltas)) }];
faux.setResponses([{ role: "assistant", stopReason: "stop", timestamp: 0, content }]);
const harness = new core.AgentHarness({ env, session, models, model: faux.getModel("faux-1"), systemPrompt: "", tools: [] });
let seen = 0;
harness.subscribe((event) => {
  if (event.type === "message_update") seen += 1;
});
const start = process.cpuUsage();
const begin = performance.now();
await harness.prompt("hi");
const wall = performance.now() - begin;
const used = process.cpuUsage(start);
fs.rmSync(folder, { recursive: true, force: true });
console.log(JSON.stringify({ seen, usPerDelta: (wall * 1000) / seen, cpuUsPerDelta: (used.user + used.system) / seen }));
