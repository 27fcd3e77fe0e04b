"use strict";
// Texts are set as text, never as HTML: labels and words are whatever a corpus has.
const data = JSON.parse(document.getElementById("data").textContent);
const HEADS = data.layers * data.heads, STEPS = 10000, NONE = 65535, SHOWN = 10, CLOSED = 1e-3;
const NAMES = { score: "score", selectivity: "selectivity", gate: "gate" };
const MODES = { "same-split": "same split", "train-split": "train split" };
const $ = (id) => document.getElementById(id);

function make(tag, properties = {}, ...children) {
  const { data: attributes = {}, ...own } = properties;
  const node = Object.assign(document.createElement(tag), own);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
function unpacked(text) {
  const view = new DataView(bytes(text).buffer);
  return Float64Array.from({ length: view.byteLength / 2 }, (_, i) => {
    const steps = view.getUint16(2 * i, true);
    return steps === NONE ? NaN : steps / STEPS - 1;
  });
}
const percent = (value, digits = 1) => (Number.isFinite(value) ? (100 * value).toFixed(digits).replace(/^-(?!0(\.0)?$)/, "−").replace(/^-/, "") : "–");
const place = (head) => `layer ${Math.floor(head / data.heads) + 1}, head ${(head % data.heads) + 1}`;
const capital = (text) => text[0].toUpperCase() + text.slice(1);

const probes = data.probes.map((probe) => ({ ...probe,
  values: Object.fromEntries(Object.entries(probe.measures).map(([name, text]) => [name, unpacked(text)])) }));
const gates = Object.fromEntries(Object.entries(data.gates).map(([name, text]) => [name, unpacked(text)]));
const present = data.kept.flatMap((heads, layer) => heads.map((head) => layer * data.heads + head));
const tasks = [...new Set(probes.map((probe) => probe.task))];
const most = Math.max(...probes.flatMap((probe) => probe.labels.map((label) => label.count)));
const at = (probe, measure, label, head) => probe.values[measure]?.[label * HEADS + head] ?? NaN;
// How many heads do better, and one.
const rankOf = (probe, label, head) => {
  const own = at(probe, "score", label, head);
  return own > 0 ? 1 + present.filter((other) => at(probe, "score", label, other) > own).length : NaN;
};
const range = (probe, label, head) =>
  Number.isFinite(at(probe, "low", label, head)) ? `${percent(at(probe, "low", label, head))} to ${percent(at(probe, "high", label, head))}` : "";

// What is shown; label is a name, or null with view "mean" or "best" of all labels.
const state = { task: tasks[0], mode: "", label: null, view: "mean", measure: "score", least: most < 10 ? 1 : 10,
  head: -1, sort: "over", all: false };
let probe, shown = [];

function readHash() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (tasks.includes(wanted.get("task"))) state.task = wanted.get("task");
  state.mode = wanted.get("mode") ?? state.mode;
  state.label = wanted.get("label");
  state.view = wanted.get("view") === "best" ? "best" : "mean";
  state.measure = wanted.get("measure") ?? state.measure;
  if (Number(wanted.get("least")) >= 1) state.least = Math.floor(Number(wanted.get("least")));
  const [layer, head] = (wanted.get("head") ?? "").split("-").map(Number);
  if (layer >= 1 && layer <= data.layers && head >= 1 && head <= data.heads) state.head = (layer - 1) * data.heads + head - 1;
}
function writeHash() {
  const now = new URLSearchParams({ task: state.task, mode: probe.mode, measure: state.measure, least: state.least,
    head: `${Math.floor(state.head / data.heads) + 1}-${(state.head % data.heads) + 1}` });
  if (state.label === null) now.set("view", state.view);
  else now.set("label", state.label);
  // A frame may forbid this; then its view cannot be linked, and all else works.
  try { history.replaceState(null, "", `${location.href.split("#")[0]}#${now}`); } catch { /* see above */ }
}

// The probe of a task in the mode that is chosen, or else in its last one, the unbiased one of two.
function probeOf(task) {
  const own = probes.filter((each) => each.task === task);
  return own.find((each) => each.mode === state.mode) ?? own.at(-1);
}
const measures = () => Object.keys(NAMES).filter((name) => (name === "gate" ? data.sets[state.task] in gates : name in probe.values));
const counted = (own) => {
  const many = own.labels.map((_, i) => i).filter((i) => own.labels[i].count >= state.least);
  return many.length ? many : own.labels.map((_, i) => i);
};
const labelNumber = () => (state.label === null ? -1 : probe.labels.findIndex((each) => each.label === state.label));

// Of every head the value that its colour shows and, of the best label, which one it is.
function view() {
  const label = labelNumber(), which = counted(probe);
  return Array.from({ length: HEADS }, (_, head) => {
    if (state.measure === "gate") return { value: present.includes(head) ? gates[data.sets[state.task]][head] : NaN };
    if (label >= 0) return { value: at(probe, state.measure, label, head) };
    const all = which.map((i) => [at(probe, state.measure, i, head), i]).filter(([value]) => Number.isFinite(value));
    if (!all.length) return { value: NaN };
    if (state.view === "mean") return { value: all.reduce((sum, [value]) => sum + value, 0) / all.length };
    const [value, best] = all.reduce((one, other) => (other[0] > one[0] ? other : one));
    return { value, best };
  });
}
function lack(head) {
  if (!present.includes(head)) return "removed";
  return gates[data.sets[state.task]]?.[head] <= CLOSED ? "closed by its gate" : "no score";
}
const bestOf = (values) => values.reduce((best, each, i) => (Number.isFinite(each.value) && !(each.value <= values[best]?.value) ? i : best), -1);

function options(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => make("option", { value, textContent: text, selected: value === chosen })));
  select.value = chosen;
}
function drawChoice() {
  const modes = probes.filter((each) => each.task === state.task).map((each) => each.mode);
  const order = probe.labels.map((_, i) => i).sort((a, b) => probe.labels[b].count - probe.labels[a].count);
  options($("task"), tasks.map((task) => [task, task.toUpperCase()]), state.task);
  options($("mode"), modes.map((mode) => [mode, MODES[mode] ?? mode]), probe.mode);
  $("mode").parentElement.hidden = modes.length < 2;
  options($("label"), [["mean", "all: their mean"], ["best", "all: the best one"],
    ...order.map((i) => [String(i), `${probe.labels[i].label} (${probe.labels[i].count})`])],
  state.label === null ? state.view : String(labelNumber()));
  options($("measure"), measures().map((name) => [name, NAMES[name]]), state.measure);
  $("least").value = state.least;
}

function buildGrid() {
  const head = (text, role) => make("div", { className: "side head", textContent: text, data: { role } });
  const numbers = Array.from({ length: data.heads }, (_, i) => i);
  const rows = Array.from({ length: data.layers }, (_, i) => data.layers - 1 - i).map((layer) =>
    make("div", { className: "row", data: { role: "row" } },
      make("div", { className: "side", textContent: layer + 1, data: { role: "rowheader", "aria-label": `layer ${layer + 1}` } }),
      ...numbers.map((i) => make("div", { className: "cell", data: { role: "gridcell", "data-head": layer * data.heads + i } }))));
  rows.push(make("div", { className: "row", data: { role: "row" } }, head("", "presentation"),
    ...numbers.map((i) => head(i + 1, "columnheader"))));
  $("grid").style.setProperty("--heads", data.heads);
  $("grid").classList.toggle("many", data.heads > 12);
  $("grid").replaceChildren(...rows);
}
const cellOf = (head) => $("grid").querySelector(`[data-head="${head}"]`);
function moveTo(head) {
  for (const cell of $("grid").querySelectorAll(".cell")) cell.tabIndex = Number(cell.dataset.head) === head ? 0 : -1;
}
function drawGrid() {
  shown = view();
  const top = Math.max(...shown.map((each) => each.value).filter(Number.isFinite), 0);
  // A gate's scale is from 0 to 1; others end at the next tenth, or low scores would all look alike.
  const end = state.measure === "gate" ? 1 : Math.max(0.1, Math.ceil(top * 10 - 1e-9) / 10);
  shown.forEach(({ value }, head) => {
    const cell = cellOf(head), known = Number.isFinite(value), share = Math.min(1, Math.max(0, value / end));
    cell.classList.toggle("gone", !known);
    cell.style.setProperty("--v", known ? share : 0);
    cell.textContent = known ? percent(value, 0) : "–";
    cell.setAttribute("aria-label", `${place(head)}: ${known ? value.toFixed(2) : lack(head)}`);
    cell.setAttribute("aria-selected", head === state.head);
  });
  const what = state.measure === "gate" ? "" : labelNumber() >= 0 ? `${state.label}, ` : { mean: "mean of all labels, ", best: "best label, " }[state.view];
  $("says").textContent = `${state.task.toUpperCase()}: ${what}${NAMES[state.measure]} of every head, in percent`;
  $("grid").setAttribute("aria-label", `Heads: ${$("says").textContent}`);
  $("from").textContent = state.measure === "selectivity" ? "0 or less" : "0";
  $("to").textContent = percent(end, 0);
  readOut(state.head);
}
function readOut(head) {
  const { value, best } = shown[head], label = labelNumber();
  const parts = [Number.isFinite(value) ? `${NAMES[state.measure]} ${percent(value)}` : lack(head)];
  if (best !== undefined) parts.push(`of ${probe.labels[best].label} (${probe.labels[best].count} items)`);
  const one = best ?? label;
  if (state.measure !== "gate" && one >= 0 && Number.isFinite(value)) {
    if (state.measure !== "score") parts.push(`score ${percent(at(probe, "score", one, head))}`);
    if (range(probe, one, head)) parts.push(`95% interval of the score ${range(probe, one, head)}`);
    if (probe.values.control) parts.push(`control ${percent(at(probe, "control", one, head))}`);
    if (probe.values.selectivity && state.measure !== "selectivity") parts.push(`selectivity ${percent(at(probe, "selectivity", one, head))}`);
  }
  $("readout").textContent = `${capital(place(head))}: ${parts.join(", ")}`;
}

function drawFacts() {
  const rows = [], number = labelNumber(), add = (name, ...content) => rows.push(make("dt", { textContent: name }), make("dd", {}, ...content));
  const jump = (head) => make("button", { type: "button", className: "link", textContent: place(head), onclick: () => choose(head) });
  const best = bestOf(shown);
  if (state.measure === "gate" || number < 0) {
    if (best >= 0) add(`highest ${NAMES[state.measure]}`, jump(best), ` ${percent(shown[best].value)}`);
    if (number < 0) add("labels", `${counted(probe).length} of ${probe.labels.length}, those with enough items`);
  }
  if (number >= 0) {
    const facts = probe.labels[number], value = (measure, head) => percent(at(probe, measure, number, head));
    add("items", facts.controlled ? `${facts.count}, ${facts.controlled} of them with a control` : `${facts.count}`);
    for (const [by, name] of [["score", "best heads"], ["selectivity", "most selective"]]) {
      const tops = (facts.best?.[by] ?? []).map(([head, sure]) => make("li", {}, jump(head), ` ${value(by, head)}`, make("small", { textContent: [
        by === "score" ? range(probe, number, head) : `score ${value("score", head)}, control ${value("control", head)}`,
        sure === null ? "" : `best in ${percent(sure, 0)}% of samples`].filter(Boolean).join("; ") })));
      if (tops.length) add(name, make("ol", {}, ...tops));
    }
    const bases = [[facts.baseline, facts.baseline_score, facts.baseline_selectivity, null],
      ...(facts.baseline === "offset ±1" ? [] : [["next or previous word", facts.adjacent_score, facts.adjacent_selectivity, null]]),
      ["best head of an untrained encoder", facts.untrained_score, facts.untrained_selectivity, facts.untrained_deviation]];
    const lines = bases.filter(([, score]) => score !== null).map(([name, score, selectivity, deviation]) => make("li", {},
      `${name} ${percent(score)}${deviation === null ? "" : ` ± ${percent(deviation)}`}`,
      make("small", { textContent: selectivity === null ? "" : `selectivity ${percent(selectivity)}` })));
    if (lines.length) add("baselines", make("ol", {}, ...lines));
  }
  $("facts").replaceChildren(...rows);
}

const COLUMNS = [["label", "label", "task, items"], ["score", "score", "interval"], ["selectivity", "select.", "control"], ["over", "gain", "baseline"], ["rank", "rank", ""]];
function drawKnown() {
  const small = (text) => make("small", { textContent: text });
  const rows = tasks.map(probeOf).flatMap((own) => counted(own).map((i) => ({ own, i, name: own.labels[i].label, count: own.labels[i].count,
    score: at(own, "score", i, state.head), control: at(own, "control", i, state.head), selectivity: at(own, "selectivity", i, state.head),
    baseline: own.labels[i].baseline_score ?? NaN, over: at(own, "score", i, state.head) - (own.labels[i].baseline_score ?? NaN), rank: -rankOf(own, i, state.head) })))
    .filter((row) => Number.isFinite(row.score));
  const key = (row) => (Number.isFinite(row[state.sort]) ? row[state.sort] : -1e9);
  rows.sort((a, b) => (state.sort === "label" ? a.name.localeCompare(b.name) : key(b) - key(a)) || b.count - a.count);
  $("known").tHead.replaceChildren(make("tr", {}, ...COLUMNS.map(([name, text, below]) => {
    const sort = name === state.sort ? { "aria-sort": name === "label" || name === "rank" ? "ascending" : "descending" } : {};
    const button = make("button", { type: "button", textContent: sort["aria-sort"] ? `${text} ${sort["aria-sort"] === "ascending" ? "↑" : "↓"}` : text,
      onclick: () => { state.sort = name; drawKnown(); $("known").querySelector("[aria-sort] button").focus(); } });
    return make("th", { scope: "col", data: sort }, button, small(below));
  })));
  $("known").tBodies[0].replaceChildren(...(state.all ? rows : rows.slice(0, SHOWN)).map((row) => {
    const label = make("button", { type: "button", className: "link", textContent: row.name,
      onclick: () => { Object.assign(state, { task: row.own.task, mode: row.own.mode, label: row.name }); draw(); } });
    return make("tr", {}, make("td", {}, label, small(`${row.own.task.toUpperCase()}, ${row.count}`)),
      make("td", {}, percent(row.score), small(range(row.own, row.i, state.head).replace(" to ", "–"))),
      make("td", {}, percent(row.selectivity), small(percent(row.control))),
      make("td", {}, percent(row.over), small(percent(row.baseline))), make("td", { textContent: Number.isFinite(row.rank) ? -row.rank : "–" }));
  }));
  $("more").hidden = rows.length <= SHOWN;
  $("more").textContent = state.all ? "Show fewer" : `Show all ${rows.length}`;
}

// Attention of the chosen head in a sentence: from(i, j) between positions, 0 the first special token, the last column
// the last special token; null where the head is missing.
function attentionOf(sentence) {
  const row = present.indexOf(state.head), set = data.sets[state.task], stored = data.attention[set]?.[sentence];
  if (row < 0 || !stored) return null;
  const size = data.sentences[sentence].words.length + 1, all = (attentionOf.kept ??= {})[`${set} ${sentence}`] ??= bytes(stored);
  return (from, to) => all[row * size * (size + 1) + from * (size + 1) + to] / 255;
}
function drawWhere() {
  const sums = { [`first token ${data.root}`]: 0, [`last token ${data.end}`]: 0, "the word itself": 0, "the word before": 0, "the word after": 0, "other words": 0 };
  const names = Object.keys(sums);
  let rows = 0;
  data.sentences.forEach(({ words }, sentence) => {
    const from = attentionOf(sentence), n = words.length;
    for (let i = 1; from && i <= n; i++, rows++) {
      for (let j = 0; j <= n + 1; j++) sums[names[j === 0 ? 0 : j === n + 1 ? 1 : { 0: 2, "-1": 3, 1: 4 }[j - i] ?? 5]] += from(i, j);
    }
  });
  $("where").replaceChildren(...(rows ? names : []).map((name) => {
    const bar = make("i");
    bar.style.setProperty("--v", Math.min(1, sums[name] / rows));
    return make("li", {}, make("span", { textContent: name }), make("span", {}, bar), make("b", { textContent: `${percent(sums[name] / rows, 0)}%` }));
  }));
}
function drawSentences() {
  const having = (sentence) => (data.sentences[sentence].items[state.task] ?? []).filter((item) => item[3] === state.label);
  // Those with the label come first, each kind from short to long.
  const order = data.sentences.map((_, i) => i).sort((a, b) => (having(b).length > 0) - (having(a).length > 0) || a - b);
  $("sentences").replaceChildren(...order.map((sentence) => {
    const { words } = data.sentences[sentence], texts = [data.root, ...words, data.end], said = make("p", { className: "said", data: { "aria-live": "polite" } });
    const marked = having(sentence);
    const nodes = texts.map((text, i) => make("button", { type: "button", textContent: text, tabIndex: i === 1 ? 0 : -1,
      className: ["word", i === 0 || i > words.length ? "special" : "", marked.some(([, start, end]) => start <= i && i <= end && i > 0) ? "target" : "",
        marked.some(([source]) => source === i) ? "source" : ""].join(" ").trim() }));
    const shade = (chosen) => {
      const from = attentionOf(sentence), outward = document.querySelector("[name=direction]:checked").value === "from";
      const values = texts.map((_, j) => {
        if (!from) return 0;
        if (chosen < 0) return words.reduce((sum, _word, i) => sum + from(i + 1, j), 0) / words.length;
        if (outward) return chosen > words.length ? 0 : from(chosen, j);
        return j > words.length ? 0 : from(j, chosen);
      });
      const top = Math.max(...values, 0.05);
      nodes.forEach((node, j) => {
        node.style.setProperty("--v", values[j] / top);
        node.classList.toggle("chosen", j === chosen);
      });
      if (chosen < 0 || !from) { said.textContent = ""; return; }
      const first = values.map((value, j) => [value, j]).filter(([value]) => value >= 0.005).sort((a, b) => b[0] - a[0]).slice(0, 4);
      said.textContent = `${texts[chosen]} ${outward ? "→" : "←"} ${first.map(([value, j]) => `${texts[j]} ${percent(value, 0)}%`).join(", ") || "nothing"}`;
    };
    nodes.forEach((node, i) => {
      node.onmouseenter = node.onfocus = node.onclick = () => shade(i);
      node.onkeydown = (event) => {
        const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: texts.length - 1 }[event.key];
        if (to === undefined || !nodes[to]) return;
        event.preventDefault();
        nodes.forEach((other, j) => { other.tabIndex = j === to ? 0 : -1; });
        nodes[to].focus();
      };
    });
    // Before anything is pointed at: the first word with the label, or else all.
    const initial = marked.length ? marked[0][1] : -1;
    shade(initial);
    const group = make("div", { data: { role: "group", "aria-label": `sentence ${sentence + 1}` } }, ...nodes);
    group.onmouseleave = () => { const focused = nodes.indexOf(document.activeElement); shade(focused < 0 ? initial : focused); };
    return make("li", {}, group, said);
  }));
  const marks = state.label === null ? "" : !order.some((i) => having(i).length) ? ` None of these sentences has ${state.label}.` : ` Underlined: ${state.label}${data.sentences.some(({ items }) => (items[state.task] ?? []).some((item) => item[0] !== null)) ? ", dotted where it starts from" : ""}.`;
  $("hint").textContent = data.sentences.length ? `The strongest colour: the most. Before you point: the first underlined word, or else the mean over all.${marks}` : "The corpus has no sentence of up to 25 words to show.";
}

function drawHead() {
  $("name").textContent = capital(place(state.head));
  const gate = gates[data.sets[state.task]]?.[state.head], there = present.includes(state.head);
  $("state").textContent = !there ? "This head was removed." : gate === undefined ? ""
    : gate <= CLOSED ? "Closed by its gate: what it attends to has no effect." : `Its gate for ${state.task.toUpperCase()} is ${gate.toFixed(2)}.`;
  $("direction").hidden = !there;
  drawKnown();
  drawWhere();
  drawSentences();
}
// A head is chosen.
function choose(head) {
  state.head = head;
  moveTo(head);
  for (const cell of $("grid").querySelectorAll(".cell")) cell.setAttribute("aria-selected", Number(cell.dataset.head) === head);
  readOut(head);
  drawHead();
  writeHash();
}
// Everything again, after a choice.
function draw() {
  probe = probeOf(state.task);
  if (labelNumber() < 0) state.label = null;
  if (!measures().includes(state.measure)) state.measure = "score";
  drawChoice();
  if (state.head < 0) state.head = Math.max(0, bestOf(view()));
  drawGrid();
  drawFacts();
  moveTo(state.head);
  drawHead();
  writeHash();
}

$("choice").onsubmit = (event) => event.preventDefault();
$("task").onchange = () => { Object.assign(state, { task: $("task").value, label: null }); draw(); };
$("mode").onchange = () => { state.mode = $("mode").value; draw(); };
$("measure").onchange = () => { state.measure = $("measure").value; draw(); };
$("label").onchange = () => {
  const { value } = $("label");
  if (value === "mean" || value === "best") Object.assign(state, { label: null, view: value });
  else state.label = probe.labels[Number(value)].label;
  draw();
};
$("least").onchange = () => { state.least = Math.max(1, Math.floor(Number($("least").value)) || 1); draw(); };
$("direction").onchange = drawSentences;
$("more").onclick = () => { state.all = !state.all; drawKnown(); };
const headAt = (event) => { const cell = event.target.closest(".cell"); return cell ? Number(cell.dataset.head) : -1; };
$("grid").onclick = (event) => { if (headAt(event) >= 0) choose(headAt(event)); };
$("grid").onmouseover = (event) => { if (headAt(event) >= 0) readOut(headAt(event)); };
$("grid").addEventListener("focusin", (event) => { if (headAt(event) >= 0) readOut(headAt(event)); });
$("grid").onmouseleave = () => readOut(state.head);
$("grid").onkeydown = (event) => {
  const head = headAt(event), column = head % data.heads, last = data.heads - 1;
  if (head < 0) return;
  if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(head); return; }
  // Layer 1 is at the bottom, so up is to the next layer.
  const to = { ArrowLeft: column > 0 ? head - 1 : head, ArrowRight: column < last ? head + 1 : head, ArrowUp: head + data.heads,
    ArrowDown: head - data.heads, Home: head - column, End: head - column + last }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (to < 0 || to >= HEADS) return;
  moveTo(to);
  cellOf(to).focus();
};
window.onhashchange = () => { readHash(); draw(); };
readHash();
buildGrid();
draw();
