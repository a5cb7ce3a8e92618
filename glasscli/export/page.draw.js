"use strict";
// The drawing half of the page's script: colours, small maps of all heads, the large map.
// Ramps of the style sheet as 256 colours each: weights from 0 to 1, scores from −largest to +largest.
let weightColors = [], scoreColors = [], voidColor = [0, 0, 0];
function readRamps() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => {
    const hex = style.getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  };
  const ramp = (stops) => Array.from({ length: 256 }, (_, i) => {
    const at = (i / 255) * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2);
    return stops[low].map((c, k) => Math.round(c + (stops[low + 1][k] - c) * (at - low)));
  });
  weightColors = ramp([0, 1, 2, 3, 4].map((i) => color(`--ramp-${i}`)));
  scoreColors = ramp(["--below", "--ramp-0", "--above"].map(color));
  voidColor = color("--void");
}

function weightColor(weight) {
  const part = state.log ? Math.max(0, 1 + Math.log10(Math.max(weight, 1e-9)) / 4) : weight;
  return weightColors[Math.round(255 * Math.max(0, Math.min(1, part)))];
}

// Of all scores of a head, so that the raw and the masked map are shaded alike.
function largestScore(one) {
  if (one.largest === undefined) {
    one.largest = one.scores.reduce((most, row) => row.reduce((m, x) => Math.max(m, Math.abs(x || 0)), most), 1e-6);
  }
  return one.largest;
}

function cellColor(one, value) {
  if (state.stage === "softmax") return weightColor(value);
  return scoreColors[Math.round(127.5 * (1 + Math.max(-1, Math.min(1, value / largestScore(one)))))];
}

// A canvas with one pixel a cell.
function paint(canvas, nRows, colorAt) {
  canvas.width = columns;
  canvas.height = nRows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, nRows);
  for (let i = 0; i < nRows; i++) {
    for (let j = 0; j < columns; j++) {
      const [r, g, b] = colorAt(i, j) || voidColor;
      image.data.set([r, g, b, 255], 4 * (i * columns + j));
    }
  }
  context.putImageData(image, 0, 0);
}

// Above this many heads their maps are small, a layer a line where that fits, and roles are a bold name.
const FEW = 64;
function drawHeads() {
  painted = "";
  $("heads").classList.toggle("many", data.layers.length * data.model.n_heads > FEW);
  $("heads").replaceChildren(...data.layers.map((one, i) => {
    const part = element("div", undefined, "layer"), line = element("div", undefined, "heads");
    part.append(element("span", `layer ${one.layer}`, "name"), line);
    one.heads.forEach((each, j) => {
      const button = element("button"), canvas = element("canvas"), name = `${one.layer}.${j}`;
      button.type = "button";
      button.setAttribute("role", "radio");
      button.title = `layer ${one.layer} head ${j} · kv ${each.kv}` + (each.role ? ` · ${roleText(each.role)}` : "");
      button.setAttribute("aria-label", `layer ${one.layer} head ${j}${each.role ? `, ${each.role}` : ""}`);
      canvas.setAttribute("aria-hidden", "true");
      canvas.style.aspectRatio = `${columns} / ${Math.max(each.softmax.length, Math.ceil(columns / 3))}`;
      paint(canvas, each.softmax.length, (row, column) => {
        const weight = valueAt(one, each, "softmax", row, column);
        return weight === undefined ? null : weightColor(weight);
      });
      button.append(canvas, element("span", name, each.role ? "called" : ""), element("small", each.role || ""));
      button.addEventListener("click", () => choose({ layer: i, head: j }));
      line.append(button);
    });
    return part;
  }));
  markHead();
}

const headButton = (i, j) => $("heads").children[i].querySelectorAll("button")[j];
function markHead() {
  for (const button of $("heads").querySelectorAll("button")) {
    button.setAttribute("aria-checked", "false");
    button.tabIndex = -1;
  }
  const chosen = headButton(state.layer, state.head);
  chosen.setAttribute("aria-checked", "true");
  chosen.tabIndex = 0;
  showIn($("heads"), chosen, 24);
}

// Scroll a box, and nothing around it, until a part of it is seen.
function showIn(box, part, room) {
  const outer = box.getBoundingClientRect(), inner = part.getBoundingClientRect();
  if (inner.top < outer.top) box.scrollTop += inner.top - outer.top - room;
  if (inner.bottom > outer.bottom) box.scrollTop += inner.bottom - outer.bottom + room;
}

// Where the large map's cells begin, and how large they are.
const place = { size: 0, left: 0, top: 0 };
const cellsOfHead = document.createElement("canvas");
let painted = ""; // what it holds
const short = (text, n) => (text.length > n ? text.slice(0, n - 1) + "…" : text);
const labelOf = (at) => `${short(data.tokens[at], 14)}`;

function drawMap() {
  const canvas = $("map"), one = head(), rows = one.softmax.length, ratio = window.devicePixelRatio || 1;
  const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const font = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
  context.font = font;
  const labels = Array.from({ length: rows }, (_, i) => `${labelOf(position(i))} ${position(i)}`);
  const widest = Math.max(...labels.map((label) => context.measureText(label).width));
  const most = $("scroll").parentElement.clientWidth;
  place.left = Math.min(Math.ceil(widest) + 12, Math.floor(most / 3));
  place.size = Math.max(4, Math.min(46, Math.floor((most - place.left - 2) / columns)));
  const upright = place.size >= 12;
  const names = Array.from({ length: columns }, (_, j) => labelOf(j * data.pool));
  place.top = upright ? Math.ceil(Math.max(...names.map((n) => context.measureText(n).width))) + 14 : 22;
  const width = place.left + columns * place.size + 2, height = place.top + rows * place.size + 2;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.scale(ratio, ratio);
  context.font = font;
  const wanted = `${state.layer}.${state.head} ${state.stage} ${state.log}`;
  if (painted !== wanted) {
    paint(cellsOfHead, rows, (i, j) => {
      const value = valueAt(layer(), one, state.stage, i, j);
      return value === undefined || value === null ? null : cellColor(one, value);
    });
    painted = wanted;
  }
  context.imageSmoothingEnabled = false;
  context.drawImage(cellsOfHead, place.left, place.top, columns * place.size, rows * place.size);
  if (place.size >= 30) drawNumbers(context, one);
  drawLabels(context, style, labels, names, upright);
  context.strokeStyle = style.getPropertyValue("--mark");
  context.lineWidth = 2;
  context.strokeRect(place.left + column() * place.size, place.top + row() * place.size, place.size, place.size);
}

// Numbers inside the cells, where there is room; weights below .005 would all read .00.
function drawNumbers(context, one) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  const soft = getComputedStyle(document.documentElement).getPropertyValue("--soft");
  for (let i = 0; i < one.softmax.length; i++) {
    for (let j = 0; j < columns; j++) {
      const value = valueAt(layer(), one, state.stage, i, j), weights = state.stage === "softmax";
      if (weights && !(value >= 0.005)) continue;
      if (value === null) continue;
      const [r, g, b] = value === undefined ? [0, 0, 0] : cellColor(one, value);
      context.fillStyle = value === undefined ? soft : 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#10151c" : "#ffffff";
      const text = value === undefined ? "−∞" : weights ? value.toFixed(2).replace(/^0/, "") : minus(value.toFixed(1));
      context.fillText(text, place.left + (j + 0.5) * place.size, place.top + (i + 0.5) * place.size);
    }
  }
}

function drawLabels(context, style, labels, names, upright) {
  const ink = style.getPropertyValue("--ink"), soft = style.getPropertyValue("--soft");
  const every = Math.max(1, Math.ceil(14 / place.size));
  context.textBaseline = "middle";
  context.textAlign = "right";
  labels.forEach((label, i) => {
    if (i % every && i !== row()) return;
    if (every > 1 && i !== row() && Math.abs(i - row()) < every) return;
    context.fillStyle = i === row() ? ink : soft;
    context.fillText(label, place.left - 6, place.top + (i + 0.5) * place.size, place.left - 8);
  });
  context.textAlign = "left";
  names.forEach((name, j) => {
    const x = place.left + (j + 0.5) * place.size;
    context.fillStyle = j === column() ? ink : soft;
    if (upright) {
      context.save();
      context.translate(x, place.top - 6);
      context.rotate(-Math.PI / 2);
      context.fillText(name, 0, 0);
      context.restore();
    } else if (j === column()) {
      const text = `${name} ${j * data.pool}`;
      context.fillText(text, Math.min(x, place.left + columns * place.size - context.measureText(text).width), 10);
    }
  });
}
