// What is chosen, and what changes it: pointer, keys, address.
const data = JSON.parse(document.getElementById("data").textContent);
const state = { layer: 0, head: 0, query: 0, key: 0, stage: "softmax", tint: "from", log: false, pinned: false };
const STAGES = ["scores", "masked", "softmax"];
const $ = (id) => document.getElementById(id);
const columns = Math.ceil(data.tokens.length / data.pool);
const rowOf = (query) => Math.floor((query - data.start) / data.pool);
const columnOf = (key) => Math.floor(key / data.pool);
const row = () => rowOf(state.query);
const column = () => columnOf(state.key);
const position = (at) => data.start + at * data.pool;
const layer = () => data.layers[state.layer];
const head = () => layer().heads[state.head];

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

// A number of a map; undefined where it is masked, null where there is none.
function valueAt(one, ofHead, stage, i, j) {
  if (stage === "scores") return ofHead.scores[i][j];
  const [first, stop] = one.seen[i];
  if (j < first || j >= stop) return undefined;
  if (stage === "masked" && !ofHead.masked) return ofHead.scores[i][j];
  return ofHead[stage][i][j - first];
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

function choose(change) {
  const before = document.activeElement, last = data.start + data.queries - 1;
  Object.assign(state, change);
  const clamp = (value, least, most) => Math.max(least, Math.min(most, Number.isFinite(value) ? value : least));
  state.layer = clamp(state.layer, 0, data.layers.length - 1);
  state.head = clamp(state.head, 0, layer().heads.length - 1);
  state.query = clamp(state.query, data.start, last);
  state.key = clamp(state.key, 0, data.tokens.length - 1);
  if ("layer" in change || "head" in change) {
    markHead();
    drawTables();
    if (before && before.parentElement && before.parentElement.className === "heads") {
      headButton(state.layer, state.head).focus();
    }
  }
  drawStage();
  drawMap();
  drawCell();
  drawWords();
  drawPlayer();
  drawNext();
  drawLens();
  if (before && before.getAttribute("role") === "option") words[wordAt()].focus({ preventScroll: true });
  remember(`#L${layer().layer}.H${state.head}.q${state.query}.k${state.key}`);
}

// A page inside another page has no address of its own to change.
function remember(place) {
  if (window.top !== window || location.hash === place) return;
  history.replaceState(null, "", place);
}

function drawStage() {
  for (const button of $("stages").querySelectorAll("button")) {
    button.setAttribute("aria-checked", String(button.value === state.stage));
    button.tabIndex = button.value === state.stage ? 0 : -1;
  }
  const weights = state.stage === "softmax", most = largestScore(head()).toFixed(1);
  $("shading").hidden = !weights;
  $("ramp").className = weights ? "ramp" : "ramp scores";
  $("rampnote").textContent = "rows read, columns are read · " + (weights
    ? `weight ${state.log ? "0.0001" : "0"} to 1` : `score −${most} to ${most}`) +
    (state.stage === "masked" ? ", −∞ where a query may not look" : "");
}

function cellUnder(event) {
  const box = $("map").getBoundingClientRect();
  const i = Math.floor((event.clientY - box.top - place.top) / place.size);
  const j = Math.floor((event.clientX - box.left - place.left) / place.size);
  return i < 0 || j < 0 || i >= head().softmax.length || j >= columns ? null : { query: position(i), key: j * data.pool };
}

// A click pins what it is on; another on the same lets go.
function clickAt(where) {
  if (timer) stop();
  const same = Object.entries(where).every(([name, value]) => state[name] === value);
  choose({ ...where, pinned: !(same && state.pinned) });
}

function onKey(event) {
  const target = event.target, role = target.getAttribute ? target.getAttribute("role") : null;
  if (["SELECT", "INPUT"].includes(target.tagName) || event.ctrlKey || event.metaKey || event.altKey) return;
  const onMap = target.id === "map", onWord = role === "option";
  const onHead = Boolean(target.parentElement) && target.parentElement.className === "heads";
  const onStage = Boolean(target.parentElement) && target.parentElement.id === "stages";
  const step = (n) => (onMap ? { key: state.key + n * data.pool } : onHead ? { head: state.head + n }
    : onWord ? wordState(wordAt() + n) : onStage ? stageBy(n) : null);
  const jump = (n) => (onMap ? { query: state.query + n * data.pool } : onHead ? { layer: state.layer + n }
    : onStage ? stageBy(n) : null);
  const moves = {
    ArrowUp: () => jump(-1), ArrowDown: () => jump(1), ArrowLeft: () => step(-1), ArrowRight: () => step(1),
    Home: () => (onWord ? wordState(0) : null), End: () => (onWord ? wordState(data.tokens.length - 1) : null),
    PageUp: () => ({ head: state.head - 1 }), PageDown: () => ({ head: state.head + 1 }),
    "[": () => ({ layer: state.layer - 1 }), "]": () => ({ layer: state.layer + 1 }),
    1: () => ({ stage: STAGES[0] }), 2: () => ({ stage: STAGES[1] }), 3: () => ({ stage: STAGES[2] }),
    Enter: () => (onMap || onWord ? { pinned: !state.pinned } : null), Escape: () => ({ pinned: false }),
  };
  if (event.key === "p" || event.key === "P") return play();
  if (event.key === "," || event.key === ".") return stepTo(state.query + (event.key === "," ? -1 : 1));
  const change = moves[event.key] && moves[event.key]();
  if (!change) return;
  event.preventDefault();
  choose(change);
  if (onStage) $("stages").querySelector("[aria-checked=true]").focus();
}

const stageBy = (n) => ({ stage: STAGES[Math.max(0, Math.min(2, STAGES.indexOf(state.stage) + n))] });

// #L2.H1.q7.k4 opens a page at a cell.
function fromAddress() {
  const found = /^#L(\d+)\.H(\d+)\.q(\d+)\.k(\d+)$/.exec(location.hash);
  if (!found) return {};
  const [name, one, query, key] = found.slice(1).map(Number);
  return { layer: Math.max(0, data.layers.findIndex((other) => other.layer === name)), head: one, query, key };
}

function listen() {
  $("scale").addEventListener("change", (event) => { state.log = event.target.value === "log"; drawHeads(); choose({}); });
  for (const button of $("stages").querySelectorAll("button")) {
    button.addEventListener("click", () => choose({ stage: button.value }));
  }
  $("map").addEventListener("pointermove", (event) => {
    const cell = event.pointerType === "mouse" && !state.pinned ? cellUnder(event) : null;
    if (cell && (rowOf(cell.query) !== row() || columnOf(cell.key) !== column())) choose(cell);
  });
  $("map").addEventListener("click", (event) => { const cell = cellUnder(event); if (cell) clickAt(cell); });
  document.addEventListener("keydown", onKey);
  window.addEventListener("resize", drawMap);
  window.addEventListener("hashchange", () => choose(fromAddress()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readRamps(); drawHeads(); choose({}); });
}

function begin() {
  const m = data.model, n = data.tokens.length;
  $("model").textContent = visible(m.name) + (m.ablated.length ? ` without ${m.ablated.join(", ")}` : "");
  $("about").textContent = `${m.n_layers} layers · ${m.n_heads} query heads → ${m.n_kv_heads} KV heads · head_dim ` +
    `${m.head_dim} · float32 · ${data.mode} ${data.queries} × ${n}` + (data.start ? ` from ${data.start}` : "");
  const traced = data.layers.length;
  $("allnote").textContent = traced < m.n_layers ? `of the ${traced} traced of ${m.n_layers} layers` : "of all layers";
  $("pooled").textContent = data.pool > 1 ? `each cell = max of ${data.pool}×${data.pool}` : "";
  readRamps();
  makeWords();
  beginPlayer();
  drawLegend();
  // Of steps that wrote a text the first, to be played; of a text that was read its end.
  const [layerAt, headAt] = data.opens, query = data.chosen.length ? data.start : data.start + data.queries - 1;
  Object.assign(state, { layer: layerAt, head: headAt, query });
  drawHeads();
  listen();
  choose({ layer: layerAt, head: headAt, query, key: strongestKey(query), ...fromAddress() });
}

begin();
