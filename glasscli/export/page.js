// Draws one dump: small maps of all heads of a layer, a large one of the chosen head, the row under the pointer.
const data = JSON.parse(document.getElementById("data").textContent);
const state = { layer: 0, head: 0, row: 0, column: 0, log: false };
const $ = (id) => document.getElementById(id);
const NAMES = ["entropy_bits", "entropy_share", "sink", "prev", "self", "dup", "induct", "reach"];
const HEADINGS = ["entropy", "of max", "sink", "prev", "self", "dup", "induct", "reach"];
const position = (row) => data.start + row * data.pool;
const layer = () => data.layers[state.layer];
const head = () => layer().heads[state.head];
const columns = Math.ceil(data.tokens.length / data.pool);

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

const token = (at) => `${data.tokens[at]} [${at}]`;
// A cell of a pooled map, which stands for several tokens.
const span = (at) => {
  const end = Math.min(at + data.pool, data.tokens.length) - 1;
  return end > at ? `${data.tokens[at]} [${at}–${end}]` : token(at);
};
// Text with nothing in it that could turn the reading direction or pass unseen.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
const visible = (text) => text.replace(UNSEEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

function drawCell() {
  const weights = head().softmax[state.row], weight = weights[state.column];
  const score = head().scores[state.row][state.column];
  const query = span(position(state.row)), key = span(state.column * data.pool);
  const value = element("b", weight === undefined ? "masked" : weight.toFixed(4));
  const where = `layer ${layer().layer} head ${state.head} → kv ${head().kv}\n${query} looks at ${key}\n`;
  const note = weight === undefined ? "\nthe key comes after the query" : `\nscore ${score.toFixed(3)} before softmax`;
  $("cell").replaceChildren(document.createTextNode(where), "weight ", value, document.createTextNode(note));
  const chosen = data.chosen.length ? ` (and then chose ${data.chosen[state.row]})` : "";
  $("rowtitle").textContent = `${query} looks at${chosen}`;
  const best = weights.map((w, j) => [w, j]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 10);
  $("row").replaceChildren(...best.map(([w, j]) => {
    const item = element("li"), bar = element("span", undefined, "bar");
    bar.style.width = `${(100 * w) / best[0][0]}%`;
    item.append(element("span", span(j * data.pool), "name"), element("span", w.toFixed(3)), bar);
    return item;
  }));
}

function drawTables() {
  const line = (cells, tag) => {
    const row = element("tr");
    row.append(...cells.map((cell) => element(tag, cell)));
    return row;
  };
  const show = (values) => NAMES.map((name) => {
    const value = values[name];
    if (value === null) return "–";
    return name === "entropy_share" ? `${Math.round(100 * value)} %` : value.toFixed(2);
  });
  const rows = layer().heads.map((one, i) => {
    const row = line([`head ${i}`, `kv ${one.kv}`, ...show(one.measures)], "td");
    if (i === state.head) row.className = "chosen";
    return row;
  });
  const base = line(["uniform", "", ...show(data.uniform)], "td");
  base.className = "baseline";
  $("measures").replaceChildren(line(["", "", ...HEADINGS], "th"), ...rows, base);
  const steps = layer().steps.map((step) => {
    const row = line([step.name, step.formula, step.shape.join(" × "), step.check], "td");
    if (!step.ok) row.lastChild.className = "bad";
    return row;
  });
  $("steps").replaceChildren(line(["step", "formula", "shape", "check"], "th"), ...steps);
}

function choose(change, heads = true) {
  const before = document.activeElement && document.activeElement.getAttribute("role") === "radio";
  Object.assign(state, change);
  const clamp = (value, n) => Math.max(0, Math.min(n - 1, value));
  state.layer = clamp(state.layer, data.layers.length);
  state.head = clamp(state.head, layer().heads.length);
  state.row = clamp(state.row, head().softmax.length);
  state.column = clamp(state.column, columns);
  $("layer").value = String(state.layer);
  if (heads) {
    drawHeads();
    drawTables();
    if (before) $("heads").children[state.head].focus();
  }
  drawMap();
  drawCell();
  const place = `#L${layer().layer}.H${state.head}.q${position(state.row)}.k${state.column * data.pool}`;
  if (location.hash !== place) history.replaceState(null, "", place);
}

function cellUnder(event) {
  const box = $("map").getBoundingClientRect();
  return {
    row: Math.floor((event.clientY - box.top - place.top) / place.size),
    column: Math.floor((event.clientX - box.left - place.left) / place.size),
  };
}

function onKey(event) {
  if (event.target.tagName === "SELECT" || event.ctrlKey || event.metaKey || event.altKey) return;
  const onMap = event.target.id === "map", onHead = event.target.getAttribute("role") === "radio";
  const moves = {
    ArrowUp: onMap ? { row: state.row - 1 } : onHead ? { head: state.head - 1 } : null,
    ArrowDown: onMap ? { row: state.row + 1 } : onHead ? { head: state.head + 1 } : null,
    ArrowLeft: onMap ? { column: state.column - 1 } : onHead ? { head: state.head - 1 } : null,
    ArrowRight: onMap ? { column: state.column + 1 } : onHead ? { head: state.head + 1 } : null,
    PageUp: { head: state.head - 1 },
    PageDown: { head: state.head + 1 },
    "[": { layer: state.layer - 1 },
    "]": { layer: state.layer + 1 },
  };
  const change = moves[event.key];
  if (!change) return;
  event.preventDefault();
  choose(change, "head" in change || "layer" in change);
}

// #L2.H1.q7.k4 opens a page at a cell.
function fromAddress() {
  const found = /^#L(\d+)\.H(\d+)\.q(\d+)\.k(\d+)$/.exec(location.hash);
  if (!found) return {};
  const [name, one, query, key] = found.slice(1).map(Number);
  return {
    layer: Math.max(0, data.layers.findIndex((other) => other.layer === name)),
    head: one,
    row: Math.floor((query - data.start) / data.pool),
    column: Math.floor(key / data.pool),
  };
}

function begin() {
  const m = data.model, n = data.tokens.length;
  $("model").textContent = visible(m.name) + (m.ablated.length ? ` without ${m.ablated.join(", ")}` : "");
  $("about").textContent = `${m.n_layers} layers · ${m.n_heads} query heads → ${m.n_kv_heads} KV heads · head_dim ` +
    `${m.head_dim} · float32 · ${data.mode} ${data.queries} × ${n}` + (data.start ? ` from ${data.start}` : "");
  $("prompt").textContent = data.prompt === null ? "" : visible(data.prompt);
  $("pooled").textContent = data.pool > 1 ? `each cell = max of ${data.pool}×${data.pool}` : "";
  data.layers.forEach((one, i) => {
    const option = element("option", String(one.layer));
    option.value = String(i);
    $("layer").append(option);
  });
  const note = () => { $("rampnote").textContent = state.log ? "weight 0.0001 to 1, rows read, columns are read"
    : "weight 0 to 1, rows read, columns are read"; };
  note();
  readRamp();
  $("layer").addEventListener("change", (event) => choose({ layer: Number(event.target.value) }));
  $("scale").addEventListener("change", (event) => { state.log = event.target.value === "log"; note(); choose({}); });
  $("map").addEventListener("mousemove", (event) => {
    const cell = cellUnder(event), rows = head().softmax.length;
    if (cell.row < 0 || cell.column < 0 || cell.row >= rows || cell.column >= columns) return;
    if (cell.row !== state.row || cell.column !== state.column) choose(cell, false);
  });
  document.addEventListener("keydown", onKey);
  window.addEventListener("resize", drawMap);
  window.addEventListener("hashchange", () => choose(fromAddress()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readRamp(); choose({}); });
  const last = layer().heads[0].softmax.length - 1, row = layer().heads[0].softmax[last];
  choose({ row: last, column: row.indexOf(Math.max(...row)), ...fromAddress() });
}

begin();
