"use strict";
// The drawing half of the page's script: colours, small maps, the large map.
// The ramp of the style sheet as a function from 0…1 to a colour.
let stops = [];
function readRamp() {
  const style = getComputedStyle(document.documentElement);
  stops = [0, 1, 2, 3, 4].map((i) => {
    const hex = style.getPropertyValue(`--ramp-${i}`).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  });
}

function shade(weight) {
  const part = state.log ? Math.max(0, 1 + Math.log10(Math.max(weight, 1e-9)) / 4) : weight;
  const at = Math.min(part, 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return `rgb(${stops[low].map((c, i) => Math.round(c + (stops[low + 1][i] - c) * (at - low))).join()})`;
}

function paint(context, rows, size, left, top) {
  rows.forEach((row, i) => row.forEach((weight, j) => {
    context.fillStyle = shade(weight);
    context.fillRect(left + j * size, top + i * size, size, size);
  }));
}

function drawHeads() {
  const box = $("heads");
  box.replaceChildren();
  layer().heads.forEach((one, index) => {
    const button = element("button");
    button.type = "button";
    button.setAttribute("role", "radio");
    button.setAttribute("aria-checked", String(index === state.head));
    button.tabIndex = index === state.head ? 0 : -1;
    const canvas = element("canvas");
    canvas.setAttribute("aria-hidden", "true");
    const scale = Math.max(1, Math.floor(256 / columns));
    canvas.width = canvas.height = columns * scale;
    paint(canvas.getContext("2d"), one.softmax, scale, 0, 0);
    const share = one.measures.entropy_share;
    button.append(canvas, element("span", `head ${index} · kv ${one.kv}`),
      element("small", share === null ? "" : `entropy ${Math.round(100 * share)} %`));
    button.addEventListener("click", () => choose({ head: index }));
    box.append(button);
  });
}

// Where the large map's cells begin, and how large they are.
const place = { size: 0, left: 0, top: 0 };
const short = (text, n) => (text.length > n ? text.slice(0, n - 1) + "…" : text);
const labelOf = (at) => `${short(data.tokens[at], 14)}`;

function drawMap() {
  const canvas = $("map"), rows = head().softmax, ratio = window.devicePixelRatio || 1;
  const room = $("big").clientWidth - (window.innerWidth > 760 ? 284 : 0);
  const context = canvas.getContext("2d");
  const font = "12px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace";
  context.font = font;
  const labels = rows.map((_, i) => `${labelOf(position(i))} ${position(i)}`);
  const widest = Math.max(...labels.map((label) => context.measureText(label).width));
  place.left = Math.ceil(widest) + 12;
  place.size = Math.max(4, Math.min(46, Math.floor((room - place.left - 2) / columns)));
  const upright = place.size >= 12;
  const names = Array.from({ length: columns }, (_, j) => labelOf(j * data.pool));
  place.top = upright ? Math.ceil(Math.max(...names.map((n) => context.measureText(n).width))) + 14 : 22;
  const width = place.left + columns * place.size + 2, height = place.top + rows.length * place.size + 2;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  context.scale(ratio, ratio);
  context.font = font;
  paint(context, rows, place.size, place.left, place.top);
  if (place.size >= 30) drawNumbers(context, rows);
  drawLabels(context, labels, names, upright);
  const style = getComputedStyle(document.documentElement);
  context.strokeStyle = style.getPropertyValue("--mark");
  context.lineWidth = 2;
  context.strokeRect(place.left + state.column * place.size, place.top + state.row * place.size, place.size, place.size);
}

// Weights inside the cells, where there is room; those below .005 would all read .00.
function drawNumbers(context, rows) {
  context.textAlign = "center";
  context.textBaseline = "middle";
  rows.forEach((row, i) => row.forEach((weight, j) => {
    if (weight < 0.005) return;
    const [r, g, b] = shade(weight).match(/\d+/g).map(Number);
    context.fillStyle = 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#10151c" : "#ffffff";
    const text = weight.toFixed(2).replace(/^0/, "");
    context.fillText(text, place.left + (j + 0.5) * place.size, place.top + (i + 0.5) * place.size);
  }));
}

function drawLabels(context, labels, names, upright) {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink"), soft = style.getPropertyValue("--soft");
  const every = Math.max(1, Math.ceil(14 / place.size));
  context.textBaseline = "middle";
  context.textAlign = "right";
  labels.forEach((label, i) => {
    if (i % every && i !== state.row) return;
    if (every > 1 && i !== state.row && Math.abs(i - state.row) < every) return;
    context.fillStyle = i === state.row ? ink : soft;
    context.fillText(label, place.left - 6, place.top + (i + 0.5) * place.size);
  });
  context.textAlign = "left";
  names.forEach((name, j) => {
    const x = place.left + (j + 0.5) * place.size;
    context.fillStyle = j === state.column ? ink : soft;
    if (upright) {
      context.save();
      context.translate(x, place.top - 6);
      context.rotate(-Math.PI / 2);
      context.fillText(name, 0, 0);
      context.restore();
    } else if (j === state.column) {
      const text = `${name} ${j * data.pool}`;
      context.fillText(text, Math.min(x, place.left + columns * place.size - context.measureText(text).width), 10);
    }
  });
}
