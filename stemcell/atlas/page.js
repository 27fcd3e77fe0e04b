"use strict";
// Texts are set as text, never as HTML: labels and words are whatever a corpus has.
const data = JSON.parse(document.getElementById("data").textContent);
const HEADS = data.layers * data.heads, STEPS = 10000, NONE = 65535, SHOWN = 12, CLOSED = 1e-3;
const NAMES = { score: "score", selectivity: "selectivity", gate: "gate" };
const MODES = { "same-split": "the same split", "train-split": "the training split" };
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
const percent = (value, digits = 1) => (Number.isFinite(value) ? (100 * value).toFixed(digits) : "–");
const place = (head) => `layer ${Math.floor(head / data.heads) + 1}, head ${(head % data.heads) + 1}`;
const capital = (text) => text[0].toUpperCase() + text.slice(1);

const probes = data.probes.map((probe) => ({ ...probe,
  values: Object.fromEntries(Object.entries(probe.measures).map(([name, text]) => [name, unpacked(text)])) }));
const gates = Object.fromEntries(Object.entries(data.gates).map(([name, text]) => [name, unpacked(text)]));
const present = data.kept.flatMap((heads, layer) => heads.map((head) => layer * data.heads + head));
const tasks = [...new Set(probes.map((probe) => probe.task))];
const most = Math.max(...probes.flatMap((probe) => probe.labels.map((label) => label.count)));
const at = (probe, measure, label, head) => probe.values[measure]?.[label * HEADS + head] ?? NaN;
const range = (probe, label, head) =>
  Number.isFinite(at(probe, "low", label, head)) ? `${percent(at(probe, "low", label, head))} to ${percent(at(probe, "high", label, head))}` : "";

// What is shown; label is a name, or null with view "mean" or "best" of all labels.
const state = { task: tasks[0], mode: "", label: null, view: "mean", measure: "score", least: most < 10 ? 1 : 10,
  head: present[0] ?? 0, sort: "score", all: false };
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
    cell.classList.toggle("full", known && share > 0.55);
    cell.style.setProperty("--v", known ? share : 0);
    cell.textContent = known ? percent(value, 0).replace("-", "−") : "–";
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
