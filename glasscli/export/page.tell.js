// What the page says in words and bars: the cell, the row, what comes next, what each layer would say, measures, steps.
const NAMES = ["entropy_bits", "entropy_share", "sink", "prev", "self", "dup", "induct", "reach"];
const HEADINGS = ["entropy", "of max", "sink", "prev", "self", "dup", "induct", "reach"];
const MEASURE_OF = { previous: "prev", self: "self", sink: "sink", induction: "induct", duplicate: "dup" };
const PLACES = { embedding: "embedding", resid_mid: "attention", resid_post: "MLP" };
const minus = (text) => text.replace("-", "−");
const share = (p) => (p < 0.001 ? "<.001" : p.toFixed(3).replace(/^0/, ""));
const roleText = (role) => `${role}: ${data.meanings[MEASURE_OF[role]]}`;

function bar(name, part, text, kind) {
  const item = element("li", undefined, kind), drawn = element("span", undefined, "bar");
  drawn.style.width = `${100 * part}%`;
  item.append(element("span", name, "name"), element("span", text), drawn);
  item.firstChild.title = name;
  return item;
}

function drawCell() {
  const one = head(), i = row(), j = column();
  const weight = valueAt(layer(), one, "softmax", i, j), raw = valueAt(layer(), one, "scores", i, j);
  const score = valueAt(layer(), one, "masked", i, j);
  const query = span(position(i)), key = span(j * data.pool);
  const hidden = position(i) < j * data.pool ? "the key comes after the query" : "the key lies before the window";
  const before = raw === null || raw === undefined ? "" : `; its raw score ${minus(raw.toFixed(3))} becomes −∞`;
  const note = weight === undefined ? hidden + before : `score ${score.toFixed(3)} before softmax`;
  const value = element("b", weight === undefined ? "masked" : weight.toFixed(4));
  const where = `layer ${layer().layer} head ${state.head} → kv ${one.kv}\n${query} looks at ${key}\n`;
  $("cell").replaceChildren(document.createTextNode(where), "weight ", value, document.createTextNode(`\n${note}`));
  const chosen = data.chosen.length ? ` (and then chose ${data.chosen[state.query - data.start]})` : "";
  $("rowtitle").textContent = `${query} looks at${chosen}`;
  const first = layer().seen[i][0], weights = one.softmax[i].map((w, k) => [w, first + k]);
  const best = weights.sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 10);
  $("row").replaceChildren(...best.map(([w, k]) => bar(span(k * data.pool), w / best[0][0], w.toFixed(3))));
  $("headtitle").textContent = `Head ${layer().layer}.${state.head} · kv ${one.kv}${one.role ? ` · ${one.role}` : ""}`;
  $("headtitle").title = one.role ? roleText(one.role) : "";
}

// What is known of a row's predictions, as [label, p] pairs of a place.
const readRow = () => (data.reading === null ? -1 : state.query - data.reading.start);
function guesses(one, at) {
  const flat = one.top[at], found = [];
  for (let i = 0; i < flat.length; i += 2) found.push([data.reading.labels[flat[i]], flat[i + 1]]);
  return found;
}

function drawNext() {
  const at = readRow(), last = data.reading === null ? undefined : data.reading.places[data.reading.places.length - 1];
  const whole = last && last.layer === data.model.n_layers - 1;
  $("saying").hidden = !(whole && at >= 0);
  if ($("saying").hidden) return;
  $("nexttitle").textContent = `After ${token(state.query)} it would say`;
  const step = state.query - data.start;
  const came = data.chosen.length ? data.chosen[step] : data.tokens[state.query + 1];
  const found = guesses(last, at), known = data.reading.next[at];
  const items = found.map(([label, p]) => bar(label, p, share(p), label === came ? "came" : ""));
  if (known && known[1] > found.length) items.push(bar(`${came} (rank ${known[1]})`, known[0], share(known[0]), "came"));
  if (came !== undefined) items.push(element("li", `◂ ${data.chosen.length ? "was chosen" : "came next"}`, "note"));
  $("next").replaceChildren(...items);
}

function drawLens() {
  const at = readRow();
  $("stream").hidden = data.reading === null || at < 0;
  if ($("stream").hidden) return;
  $("lenstitle").textContent = `What each layer would say after ${token(state.query)}`;
  const longest = Math.max(...data.reading.places.map((one) => one.norms[at]));
  const rows = data.reading.places.map((one) => {
    const made = element("tr", undefined, one.layer === layer().layer ? "chosen" : "");
    const length = element("td", undefined, "length"), drawn = element("span", undefined, "bar");
    drawn.style.width = `${(100 * one.norms[at]) / longest}%`;
    length.append(element("span", one.norms[at].toFixed(1)), drawn);
    const says = element("td", undefined, "says");
    guesses(one, at).slice(0, 3).forEach(([label, p], i) => {
      const guess = element("span", label, "guess");
      guess.style.setProperty("--share", `${Math.round(60 * p)}%`);
      guess.append(element("small", ` ${share(p)}`));
      says.append(i ? " " : "", guess);
    });
    made.append(element("th", (one.layer === null ? "" : `${one.layer} `) + PLACES[one.place]), length, says);
    made.firstChild.scope = "row";
    return made;
  });
  $("lens").replaceChildren(line(["after", "length", "would say (p)"], "th"), ...rows);
}

function line(cells, tag) {
  const made = element("tr");
  made.append(...cells.map((cell) => element(tag, cell)));
  return made;
}

function drawTables() {
  const show = (values) => NAMES.map((name) => {
    const value = values[name];
    if (value === null) return "–";
    return name === "entropy_share" ? `${Math.round(100 * value)} %` : value.toFixed(2);
  });
  const rows = layer().heads.map((one, i) => {
    const made = line([`head ${i}`, `kv ${one.kv}`, ...show(one.measures), one.role || ""], "td");
    if (i === state.head) made.className = "chosen";
    if (one.role) made.lastChild.title = roleText(one.role);
    return made;
  });
  const base = line(["uniform", "", ...show(data.uniform), ""], "td");
  base.className = "baseline";
  const names = line(["", "", ...HEADINGS, "role"], "th");
  HEADINGS.forEach((name, i) => { if (data.meanings[name]) names.children[i + 2].title = data.meanings[name]; });
  $("measures").replaceChildren(names, ...rows, base);
  const steps = layer().steps.map((step) => {
    const made = line([step.name, step.formula, step.shape.join(" × "), step.check], "td");
    if (!step.ok) made.lastChild.className = "bad";
    return made;
  });
  $("steps").replaceChildren(line(["step", "formula", "shape", "check"], "th"), ...steps);
}

function drawLegend() {
  $("legend").replaceChildren(...Object.entries(data.meanings).flatMap(([name, meaning]) => [
    element("dt", name), element("dd", meaning)]));
}
