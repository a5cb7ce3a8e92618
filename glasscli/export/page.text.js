// The text on top: words that show where the chosen head looks, and the player that walks through them.
let timer = 0, pointed = false;
const words = [];

// A line break is shown and breaks the line.
const wordText = (at) => visible(data.texts[at]).replace(/\n/g, "⏎\n").replace(/\t/g, "⇥");

function makeWords() {
  data.texts.forEach((_, at) => {
    const word = element("span", wordText(at), at >= data.prompt ? "word written" : "word");
    word.setAttribute("role", "option");
    word.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse" && !state.pinned) pickWord(at); });
    word.addEventListener("click", () => clickAt(wordState(at)));
    words.push(word);
  });
  const next = element("span", "", "word coming");
  next.id = "coming";
  $("text").append(...words, next);
}

// A word is the query where the text shows what it looks at and it has a row; else it is the key.
function wordState(at) {
  if (state.tint !== "from" || at < data.start) return { key: at };
  return weightOf(at, state.key) === undefined ? { query: at, key: strongestKey(at) } : { query: at };
}
const wordAt = () => (state.tint === "from" ? state.query : state.key);
function pickWord(at) {
  pointed = true; // what is pointed at must not move away
  choose(wordState(at));
  pointed = false;
}

function drawWords() {
  const from = state.tint === "from", at = wordAt();
  words.forEach((word, i) => {
    const weight = from ? weightOf(state.query, i) : weightOf(i, state.key);
    // Of a map with a cell for several tokens, the blocks' largest.
    word.style.setProperty("--share", `${weight === undefined ? 0 : Math.round(78 * shownPart(weight))}%`);
    word.classList.toggle("blind", weight === undefined && i !== at);
    word.classList.toggle("here", i === at);
    word.classList.toggle("pinned", i === at && state.pinned);
    word.title = weight === undefined ? "" : `${token(i)}: ${weight.toFixed(3)}`;
    word.setAttribute("aria-selected", String(i === at));
    word.tabIndex = i === at ? 0 : -1;
  });
  if (!pointed) showIn($("text"), words[at], 6);
  const written = data.chosen[state.query - data.start];
  $("coming").textContent = written && state.query === data.tokens.length - 1 ? written.replace(/^·/, " ") : "";
}

const shownPart = (weight) => (state.log ? Math.max(0, 1 + Math.log10(Math.max(weight, 1e-9)) / 4) : Math.sqrt(weight));
function weightOf(query, key) {
  if (query < data.start) return undefined;
  return valueAt(layer(), head(), "softmax", rowOf(query), columnOf(key));
}

function drawPlayer() {
  const step = state.query - data.start, last = data.queries - 1;
  $("step").max = String(last);
  $("step").value = String(step);
  $("step").setAttribute("aria-valuetext", `${token(state.query)}, ${step + 1} of ${data.queries}`);
  const what = data.chosen.length ? `wrote ${data.chosen[step]}` : `read ${data.tokens[state.query]}`;
  $("stepnote").textContent = `${step + 1} of ${data.queries}: ${what}`;
  $("first").disabled = $("back").disabled = step === 0;
  $("on").disabled = step === last;
  $("play").textContent = timer ? "■ stop" : "▶ play";
  $("play").setAttribute("aria-label", timer ? "stop" : "play");
  $("pin").setAttribute("aria-pressed", String(state.pinned));
  $("pin").textContent = state.pinned ? "pinned" : "pin";
}

// The strongest key of the step, so that the cell tells something.
function stepTo(query) {
  const at = Math.max(data.start, Math.min(data.start + data.queries - 1, query));
  choose({ query: at, key: strongestKey(at) });
}

function strongestKey(query) {
  const weights = head().softmax[rowOf(query)], first = layer().seen[rowOf(query)][0];
  return (first + weights.indexOf(Math.max(...weights))) * data.pool;
}

function stop() {
  clearInterval(timer);
  timer = 0;
  drawPlayer();
}

function play() {
  if (timer) return stop();
  const last = data.start + data.queries - 1;
  if (state.query >= last) stepTo(data.start);
  timer = setInterval(() => {
    stepTo(state.query + 1);
    if (state.query >= last) stop();
  }, 900);
  drawPlayer();
}

function beginPlayer() {
  $("first").addEventListener("click", () => stepTo(data.start));
  $("back").addEventListener("click", () => stepTo(state.query - 1));
  $("on").addEventListener("click", () => stepTo(state.query + 1));
  $("play").addEventListener("click", play);
  $("step").addEventListener("input", (event) => stepTo(data.start + Number(event.target.value)));
  $("pin").addEventListener("click", () => choose({ pinned: !state.pinned }));
  $("tint").addEventListener("change", (event) => choose({ tint: event.target.value }));
}
