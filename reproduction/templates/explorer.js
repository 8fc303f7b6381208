// Choose a row, see its most probable label vectors and the tree they were found in.
const examples = JSON.parse(document.getElementById("examples").textContent);
const LEAST = [0, 0.0001, 0.001, 0.01, 0.05, 0.2];
const MOST_ENDS = 24;

// A label with two classes that mean no and yes is named when it applies and left out when it does not.
const isSwitch = (classes) => ["0|1", "False|True", "false|true", "no|yes"].includes(classes.join("|"));

function chips(example, vector, compare) {
  const found = [];
  vector.forEach((name, label) => {
    const onOff = isSwitch(example.classes[label]);
    const isOff = onOff && name !== example.classes[label][1];
    const truth = example.truth[label];
    const isWrong = compare && truth !== null && truth !== name;
    if (isOff && !isWrong) return;
    const words = onOff ? example.labels[label] : `${example.labels[label]} = ${name ?? "unknown"}`;
    const text = !isWrong ? words : onOff ? (isOff ? "missed: " : "not true: ") + words : `${words} (true: ${truth})`;
    found.push(make("span", { class: !isWrong ? "chip" : isOff ? "chip missed" : "chip wrong" }, text));
  });
  return found.length ? found : [make("span", { class: "chip none" }, "no label")];
}

function topTable(example) {
  const isTruth = (vector) => vector.every((name, label) => [null, name].includes(example.truth[label]));
  const rows = example.top.map(([vector, chance], i) => make("tr", {},
    make("th", { scope: "row" }, String(i + 1)),
    make("td", {}, ...chips(example, vector, true), isTruth(vector) ? make("span", { class: "badge" }, "correct") : null),
    make("td", {}, probability(chance))));
  const head = ["#", "Label vector", "Probability"].map((name) => make("th", { scope: "col" }, name));
  return make("table", { class: "top-vectors" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
}

// The number of nodes of the whole tree, in words.
function countNodes(example) {
  let [level, all] = [1, 1];
  for (const label of example.order) all += level *= example.classes[label].length;
  return all < 1e6 ? all.toLocaleString("en") : `about ${all.toExponential(0)}`;
}

function describePath(example, node) {
  const path = [];
  for (let step = node; step.parent; step = step.parent) path.unshift(step);
  const named = path.filter((step) => !isSwitch(example.classes[step.label]) || step.prefix.at(-1) === 1 || path.length <= 6);
  const said = named.map((step) => make("span", { class: "chip" }, `${example.labels[step.label]} = ${step.name}`));
  if (!path.length) said.push("Start: no label is decided yet. ");
  if (path.length > named.length) said.push(`and ${path.length - named.length} that do not apply `);
  return [...said, make("strong", {}, `p = ${probability(node.probability)}`)];
}

function showExample(example, target) {
  const tree = growTree(example);
  const detail = make("p", { class: "detail", "aria-live": "polite" }, "Click a node, or use Tab and the arrow keys, to read a path.");
  const canvas = make("div", { class: "scroll tree-box" });
  const counted = make("span", { class: "quiet" });
  const least = make("select", {}, ...LEAST.map((value) => make("option", { value }, value ? `at least ${value}` : "all")));
  const redraw = () => {
    const nodes = prune(tree, Number(least.value));
    const layout = place(nodes, example.order.length, canvas.clientWidth || 320);
    canvas.replaceChildren(drawTree(example, nodes, layout, (node) => {
      for (const other of nodes) other.mark.classList.remove("on-path");
      for (let step = node; step; step = step.parent) step.mark.classList.add("on-path");
      detail.replaceChildren(...describePath(example, node));
    }));
    const narrow = layout.isWide.slice(1).includes(false) ? "; dots above: labels with one class left" : "";
    counted.textContent = `${nodes.length} of ${tree.nodes.length} nodes shown${narrow}`;
  };
  const ends = (value) => prune(tree, value).filter((node) => !node.shown.length).length;
  least.value = String(LEAST.find((value) => ends(value) <= MOST_ENDS) ?? LEAST.at(-1));
  least.addEventListener("input", redraw);
  const proof = make("p", {}, make("span", { class: "badge" }, example.certified ? "proven optimal" : "not proven"),
    ` ${tree.nodes.length} of ${countNodes(example)} nodes explored`);
  target.replaceChildren(
    make("div", { class: "facts" },
      make("div", {}, make("h4", {}, "True labels"), make("p", { class: "true-labels" }, ...chips(example, example.truth, false))),
      make("div", {}, make("h4", {}, "Proof"), proof)),
    make("h4", {}, "Tree of decisions"),
    make("div", { class: "controls" }, make("label", {}, "Probability ", least), counted),
    canvas, detail,
    make("h4", {}, "Most probable label vectors"),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Most probable label vectors" }, topTable(example)),
  );
  redraw(); // only now is the available width known
}

function startExplorer(app) {
  const datasets = [...new Set(examples.map((example) => example.dataset))];
  const dataset = make("select", { id: "explorer-dataset" }, ...datasets.map((name) => make("option", { value: name }, name)));
  const row = make("select", { id: "explorer-row" });
  const shown = make("div");
  const rows = () => examples.filter((example) => example.dataset === dataset.value);
  const show = () => showExample(rows()[row.selectedIndex], shown);
  const fillRows = () => {
    row.replaceChildren(...rows().map((example) => make("option", { value: example.row }, `row ${example.row}`)));
    row.selectedIndex = Math.floor(row.length / 2); // neither obvious nor hopeless
    show();
  };
  const step = (by) => { row.selectedIndex = (row.selectedIndex + by + row.length) % row.length; show(); };
  dataset.addEventListener("input", fillRows);
  row.addEventListener("input", show);
  app.replaceChildren(make("div", { class: "controls" },
    make("label", {}, "Data set ", dataset), make("label", {}, "Row ", row),
    make("button", { type: "button", id: "explorer-previous", onclick: () => step(-1) }, "← more certain"),
    make("button", { type: "button", id: "explorer-next", onclick: () => step(1) }, "less certain →")), shown);
  fillRows();
  app.dataset.ready = "true";
}

if (examples.length) startExplorer(document.getElementById("explorer-app"));
