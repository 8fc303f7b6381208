// The instance explorer: choose a row, see its most probable label vectors and the tree they were found in.

const examples = JSON.parse(document.getElementById("examples").textContent);
const app = document.getElementById("explorer-app");
const MOST_ENDS = 24;
const LEAST = [0, 0.0001, 0.001, 0.01, 0.05, 0.2];

// A label with two classes, the second of which says "yes", is named when it applies and left out when it does not.
const isSwitch = (classes) => classes.length === 2 && ["0|1", "False|True", "false|true", "no|yes"].includes(classes.join("|"));

function chips(example, vector, compare) {
  const found = [];
  vector.forEach((name, label) => {
    const onOff = isSwitch(example.classes[label]);
    const isOn = name === example.classes[label][1];
    const truth = example.truth[label];
    const isWrong = compare && truth !== null && truth !== undefined && truth !== name;
    const words = onOff ? example.labels[label] : `${example.labels[label]} = ${name ?? "unknown"}`;
    if (onOff && !isOn && !isWrong) return;
    const kind = !isWrong ? "chip" : onOff && !isOn ? "chip missed" : "chip wrong";
    const say = !isWrong ? "" : onOff && !isOn ? "missed: " : onOff ? "not true: " : "";
    const tail = isWrong && !onOff ? ` (true: ${truth})` : "";
    found.push(make("span", { class: kind }, say + words + tail));
  });
  return found.length ? found : [make("span", { class: "chip none" }, "no label")];
}

const isTruth = (example, vector) => vector.every((name, label) => example.truth[label] === null || example.truth[label] === name);

function topTable(example) {
  const most = Math.max(...example.top.map(([, chance]) => chance), 1e-12);
  const rows = example.top.map(([vector, chance], i) =>
    make(
      "tr",
      { class: (i === 0 ? "best " : "") + (isTruth(example, vector) ? "truth" : "") },
      make("th", { scope: "row" }, String(i + 1)),
      make("td", {}, ...chips(example, vector, true), isTruth(example, vector) ? make("span", { class: "badge" }, example.truth.includes(null) ? "agrees with what is known" : "truth") : null),
      make(
        "td",
        { class: "number" },
        draw(
          "svg",
          { class: "bar", viewBox: "0 0 80 10", width: 80, height: 10, "aria-hidden": "true" },
          draw("rect", { width: Math.max(1, (80 * chance) / most), height: 10, rx: 2 }),
        ),
        probability(chance),
      ),
    ),
  );
  const head = make("tr", {}, ...["#", "Label vector", "Probability"].map((name) => make("th", { scope: "col" }, name)));
  return make("table", { class: "top-vectors" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

// The least probability to show, so that the tree is not a thicket to begin with.
function firstLeast(tree) {
  const ends = (least) => prune(tree, least).filter((node) => !node.shown.length).length;
  return LEAST.find((least) => ends(least) <= MOST_ENDS) ?? LEAST.at(-1);
}

const raised = (exponent) => [...String(exponent)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");

// How many nodes the whole tree has.
function countNodes(example) {
  let [level, all] = [1, 1];
  for (const label of example.order) {
    level *= example.classes[label].length;
    all += level;
  }
  return all < 1e6 ? all.toLocaleString("en") : `about 10${raised(Math.round(Math.log10(all)))}`;
}

function describe(example, node) {
  const way = [];
  for (let step = node; step.parent; step = step.parent) way.unshift(step);
  const said = way
    .filter((step) => !isSwitch(example.classes[step.label]) || step.prefix.at(-1) === 1 || way.length <= 6)
    .map((step) => make("span", { class: "chip" }, `${example.labels[step.label]} = ${step.name}`));
  const left = way.length - said.length;
  const rest = left > 0 ? make("span", { class: "quiet" }, `and ${left} that do not apply `) : null;
  return [...(way.length ? said : [make("span", {}, "Start: no label is decided yet. ")]), rest,
    make("strong", {}, `p = ${probability(node.probability)}`)];
}

function showExample(example, place_) {
  const tree = growTree(example);
  const detail = make("p", { class: "detail", "aria-live": "polite" }, "Click a node, or use Tab and the arrow keys, to read a way.");
  const canvas = make("div", { class: "scroll tall tree-box" });
  const counted = make("span", { class: "quiet" });
  const least = make("select", {}, ...LEAST.map((value) => make("option", { value }, value ? `${value} and more` : "all that was looked at")));
  const redraw = () => {
    const nodes = prune(tree, Number(least.value));
    const layout = place(nodes, example.order.length, canvas.clientWidth || 320);
    canvas.replaceChildren(drawTree(example, nodes, layout, (node) => {
      for (const other of nodes) other.mark.classList.remove("on-way");
      for (let step = node; step; step = step.parent) step.mark.classList.add("on-way");
      detail.replaceChildren(...describe(example, node).filter(Boolean));
    }));
    const hidden = tree.nodes.length - nodes.length;
    counted.textContent = `${nodes.length} nodes` + (hidden ? `, ${hidden} hidden` : "") +
      (layout.isWide.slice(1).includes(false) ? "; dots above: labels of which one class is left" : "");
  };
  least.value = String(firstLeast(tree));
  least.addEventListener("input", redraw);
  place_.replaceChildren(
    make("div", { class: "facts" },
      make("div", {}, make("h4", {}, "True labels"), make("p", { class: "true-labels" }, ...chips(example, example.truth, false))),
      make("div", {}, make("h4", {}, "Proof"), make("p", {}, make("span", { class: example.certified ? "badge" : "badge open" },
        example.certified ? "proved best" : "not proved"), ` ${tree.nodes.length} of ${countNodes(example)} nodes looked at`)),
    ),
    make("h4", {}, "Most probable label vectors"),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Most probable label vectors" }, topTable(example)),
    make("h4", {}, "Tree of decisions"),
    make("div", { class: "controls" }, make("label", {}, "Branches of probability ", least), counted),
    canvas,
    detail,
  );
  redraw(); // only now is it known how much room there is
}

function startExplorer() {
  const datasets = [...new Set(examples.map((example) => example.dataset))];
  const dataset = make("select", { id: "explorer-dataset" }, ...datasets.map((name) => make("option", { value: name }, name)));
  const row = make("select", { id: "explorer-row" });
  const shown = make("div", { class: "shown" });
  const rows = () => examples.filter((example) => example.dataset === dataset.value);
  const show = () => showExample(rows()[row.selectedIndex], shown);
  const fillRows = () => {
    row.replaceChildren(...rows().map((example) => make("option", { value: example.row }, `row ${example.row}`)));
    show();
  };
  const step = (by) => {
    row.selectedIndex = (row.selectedIndex + by + row.length) % row.length;
    show();
  };
  dataset.addEventListener("input", fillRows);
  row.addEventListener("input", show);
  app.replaceChildren(
    make("div", { class: "controls" },
      make("label", {}, "Data set ", dataset),
      make("label", {}, "Row ", row),
      make("span", { class: "switch", role: "group", "aria-label": "Another row" },
        make("button", { type: "button", id: "explorer-previous", onclick: () => step(-1) }, "← previous"),
        make("button", { type: "button", id: "explorer-next", onclick: () => step(1) }, "next →")),
    ),
    shown,
  );
  fillRows();
  app.dataset.ready = "true";
}

if (app && examples.length) startExplorer();
