"use strict";
// data.jobs, data.classes: [name, letter]
// data.requests: texts
// data.waiting: [pod, job, class, request, reason, explain?]
// data.nodes: [name, kind, gpus, cpu, closed, pods]
// a pod on a node: [pod, job, class, request, cpu, change, devices, milli of each, explain?]
// explain: [attempts, nodes that fit, [[node, score, parts]], [[plugin, nodes, reason]]]
// Text goes into the page as text, never as HTML.
const data = JSON.parse(document.getElementById("data").textContent);
const STAYED = 0, PLACED = 1, LEFT = 2;
const COLOURS = 8, PATTERNS = 5;
/** Clusters of more nodes have small cells in several columns, and start with identical nodes as one row. */
const MANY = 40;

const grid = document.getElementById("nodes");
const detail = document.getElementById("detail");
const controls = document.getElementById("controls");
const field = (id) => document.getElementById(id);
/** What a focusable element shows. */
const shown = new WeakMap();

const nodes = data.nodes.map(([name, kind, gpus, cpu, closed, pods]) => ({
  name, kind, gpus, cpu, closed,
  pods: pods.map(([pod, job, cls, request, podCpu, change, devices, milli, explain]) =>
    ({ pod, job, cls, request, cpu: podCpu, change, devices, milli, explain, node: name })),
}));
for (const node of nodes) {
  node.changed = node.pods.some((pod) => pod.change !== STAYED);
  node.text = [node.name, ...node.pods.map((pod) => `${pod.pod} ${data.jobs[pod.job][0]}`)].join("\n").toLowerCase();
}
const mostGpus = nodes.reduce((most, node) => Math.max(most, node.gpus), 0);
const few = nodes.length <= MANY;
/** Length of the bars, in pixels; where there is nothing else they have more room. */
const bars = (few ? 150 : 76) * (mostGpus === 0 ? 3 : 1);
grid.className = few ? "few" : "many";
grid.style.setProperty("--gpus", mostGpus);
grid.style.setProperty("--bar", `${bars}px`);
grid.style.setProperty("--row", `${11 * 16 + 2 * (mostGpus * 21 + bars) + 40}px`);

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function plural(count, what) {
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
}

function by() {
  return controls.elements.by.value;
}

function podCell(pod, where) {
  const [group, groups] = by() === "job" ? [pod.job, data.jobs] : [pod.cls, data.classes];
  const cell = element("span", `pod c${group % COLOURS} p${group % PATTERNS}`, groups[group][1]);
  if (pod.change === PLACED) cell.classList.add("placed");
  if (pod.change === LEFT) cell.classList.add("left");
  const change = ["", ", placed by this run", ", had to leave"][pod.change];
  focusable(cell, `${pod.pod || "pod"}, job ${data.jobs[pod.job].join(", ")}, class ${data.classes[pod.cls][0]}, ${where}${change}`, pod);
  return cell;
}

function focusable(cell, label, what) {
  cell.setAttribute("role", "gridcell");
  cell.setAttribute("aria-label", label);
  cell.tabIndex = -1;
  shown.set(cell, what);
}

/** A node before or after: a cell for each GPU, then the bar of cpu. */
function half(node, when) {
  const made = element("span", "half");
  made.dataset.when = when;
  const pods = node.pods.filter((pod) => pod.change !== (when === "after" ? LEFT : PLACED));
  for (let device = 0; device < mostGpus; device += 1) {
    if (device >= node.gpus) {
      made.append(element("span", "none"));
      continue;
    }
    const on = pods.filter((pod) => pod.devices.includes(device));
    const where = `GPU ${device} ${when}`;
    if (on.length === 1 && on[0].milli === 1000) {
      made.append(podCell(on[0], where));
      continue;
    }
    const gpu = element("span", "gpu");
    if (on.length === 0) focusable(gpu, `${where} is free`, { node, device });
    gpu.style.justifyContent = "flex-start";
    for (const pod of on) {
      const cell = podCell(pod, `${pod.milli / 10} % of ${where}`);
      cell.style.width = `${pod.milli / 10}%`;
      if (pod.milli < 600) cell.textContent = "";
      gpu.append(cell);
    }
    made.append(gpu);
  }
  const sum = pods.reduce((total, pod) => total + pod.cpu, 0);
  const scale = 100 / Math.max(node.cpu, sum, 1);
  const bar = element("span", "bar");
  const withGpus = pods.filter((pod) => pod.devices.length > 0).reduce((total, pod) => total + pod.cpu, 0);
  if (withGpus > 0) {
    const rest = element("span", "rest");
    rest.style.width = `${withGpus * scale}%`;
    bar.append(rest);
  }
  const others = pods.filter((pod) => pod.devices.length === 0);
  // The bar is as full as the node. Within that, however little a pod requests, it can be pointed at.
  const requested = others.reduce((total, pod) => total + pod.cpu, 0);
  const length = Math.max(requested * scale, Math.min(others.length * (few ? 12 : 6), 12));
  for (const pod of others) {
    const cell = podCell(pod, `cpu ${when}`);
    const width = length * (0.7 * pod.cpu / Math.max(requested, 1) + 0.3 / others.length);
    cell.style.width = `${width}%`;
    if (width * bars / 100 < cell.textContent.length * (few ? 9 : 7) + 4) cell.textContent = "";
    bar.append(cell);
  }
  made.append(bar);
  return made;
}

function row(alike) {
  const [node] = alike;
  const made = element("div", "row");
  made.setAttribute("role", "row");
  const times = alike.length > 1 ? ` ×${alike.length}` : "";
  const name = element("span", "name");
  name.append(element("b", "", times ? `${times.trim()} ` : ""), `${node.name}${node.closed ? ` (${node.closed})` : ""}`);
  focusable(name, `${node.name}${times}`, { node, alike });
  name.setAttribute("role", "rowheader");
  const arrow = element("span", "note", "→");
  arrow.setAttribute("aria-hidden", "true");
  made.append(name, half(node, "before"), arrow, half(node, "after"));
  return made;
}

/** What the halves of rows are. Of several columns the text above the nodes tells. */
function head() {
  const made = element("div", "row head");
  made.setAttribute("role", "row");
  const texts = [["name", "Node"], ["half", "before"], ["note", ""], ["half", "after"]];
  made.append(...texts.map(([name, text]) => element("span", name, text)));
  for (const cell of made.children) cell.setAttribute("role", "columnheader");
  made.children[2].textContent = "\u2003";
  return made;
}

function render() {
  for (const legend of document.querySelectorAll(".legend")) legend.hidden = legend.dataset.by !== by();
  const words = field("filter").value.toLowerCase().trim();
  const chosen = nodes.filter((node) => (!field("changed").checked || node.changed) && node.text.includes(words));
  if (!few) chosen.sort((one, other) => other.changed - one.changed);
  const rows = new Map();
  for (const node of chosen) {
    const key = field("grouped").checked ? node.kind : node;
    if (rows.has(key)) rows.get(key).push(node);
    else rows.set(key, [node]);
  }
  const heads = few ? [head()] : [];
  grid.replaceChildren(...heads, ...[...rows.values()].map(row));
  const first = grid.querySelector("[tabindex]");
  if (first) first.tabIndex = 0;
  field("shown").textContent = `${plural(chosen.length, "node")} of ${nodes.length.toLocaleString("en")} in ${plural(rows.size, "row")}`;
}

function table(head, rows) {
  const made = element("table");
  const line = element("tr");
  for (const text of head) {
    const cell = element("th", "", text);
    cell.scope = "col";
    line.append(cell);
  }
  made.append(line);
  for (const cells of rows) {
    const tr = element("tr");
    for (const cell of cells) tr.append(element("td", typeof cell === "number" ? "number" : "", cell ?? "-"));
    made.append(tr);
  }
  return made;
}

function explained(pod, into) {
  if (!pod.explain) return;
  const [attempts, fits, candidates, refused] = pod.explain;
  into.append(element("p", "note", `Attempt ${attempts}: ${plural(fits, "node")} fitted.`));
  if (candidates.length > 0) {
    const parts = [...new Set(candidates.flatMap((candidate) => Object.keys(candidate[2])))];
    const rows = candidates.map(([node, score, of]) =>
      [node, node === pod.node ? "chosen" : "", score ?? "not scored", ...parts.map((part) => of[part])]);
    into.append(table(["node", "", "score", ...parts], rows));
  }
  for (const [plugin, count, reason] of refused) {
    into.append(element("p", "", `${plugin} refused ${plural(count, "node")}: ${count > 1 ? "first " : ""}“${reason}”`));
  }
}

function showPod(pod) {
  detail.append(element("h2", "", pod.pod || "a pod"));
  const facts = [`job ${data.jobs[pod.job][0]}`, `class ${data.classes[pod.cls][0]}`];
  if (pod.node) facts.push(`${pod.change === LEFT ? "had to leave" : "on"} ${pod.node}`);
  if (data.requests[pod.request]) facts.push(`requests ${data.requests[pod.request]}`);
  detail.append(element("p", "", facts.join(" · ")));
  if (pod.reason) detail.append(element("p", "", pod.reason));
  explained(pod, detail);
}

function showNode({ node, alike, device }) {
  detail.append(element("h2", "", node.name));
  const used = node.pods.filter((pod) => pod.change !== LEFT).reduce((total, pod) => total + pod.cpu, 0);
  const facts = [plural(node.gpus, "GPU"), `cpu ${used / 1000} of ${node.cpu / 1000} requested`];
  if (device !== undefined) facts.unshift(`GPU ${device} is free`);
  detail.append(element("p", "", facts.join(" · ")));
  if (alike?.length > 1) {
    const names = alike.slice(1, 40).map((other) => other.name).join(", ");
    detail.append(element("p", "note", `Identical: ${names}${alike.length > 40 ? ", …" : ""}`));
  }
}

function show(what) {
  detail.replaceChildren();
  detail.hidden = !what;
  if (what?.node?.pods) showNode(what);
  else if (what) showPod(what);
}

function move(cell, key) {
  const cells = [...cell.closest(".row").querySelectorAll("[tabindex]")];
  const at = cells.indexOf(cell);
  const beside = (line) => line && [...line.querySelectorAll("[tabindex]")];
  switch (key) {
    case "ArrowRight": return cells[at + 1];
    case "ArrowLeft": return cells[at - 1];
    case "Home": return cells[0];
    case "End": return cells.at(-1);
    case "ArrowDown": return (beside(cell.closest(".row").nextElementSibling) ?? [])[at] ?? beside(cell.closest(".row").nextElementSibling)?.at(-1);
    case "ArrowUp": return (beside(cell.closest(".row").previousElementSibling) ?? [])[at] ?? beside(cell.closest(".row").previousElementSibling)?.at(-1);
    default: return undefined;
  }
}

grid.addEventListener("keydown", (event) => {
  const next = move(event.target, event.key);
  if (next) {
    event.preventDefault();
    next.focus();
  }
});
grid.addEventListener("focusin", (event) => {
  grid.querySelector("[tabindex='0']")?.setAttribute("tabindex", "-1");
  event.target.tabIndex = 0;
  show(shown.get(event.target));
});
grid.addEventListener("mouseover", (event) => {
  const cell = event.target.closest("[tabindex]");
  if (cell) show(shown.get(cell));
});
for (const button of document.querySelectorAll("[data-waiting]")) {
  const [pod, job, cls, request, reason, explain] = data.waiting[Number(button.dataset.waiting)];
  for (const event of ["focus", "mouseover", "click"]) {
    button.addEventListener(event, () => show({ pod, job, cls, request, reason, explain }));
  }
}
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") show();
});
controls.addEventListener("submit", (event) => event.preventDefault());
controls.addEventListener("input", render);
field("grouped").checked = !few;
render();
