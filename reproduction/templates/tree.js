// The tree of decisions of one row: labels from left to right in chain order, classes as branches.
const ROW = 30, NARROWEST = 108, WIDEST = 170, NARROW = 16, HEAD = 46, MARGIN = 22, AFTER = 80;

// From a flat list of [prefix, probability, best] to nodes that know their parent and children.
function growTree(example) {
  const start = { prefix: [], probability: 1, best: true, children: [], parent: null, depth: 0, truth: true };
  const byPrefix = new Map([["", start]]);
  for (const [prefix, chance, best] of [...example.tree].sort((a, b) => a[0].length - b[0].length)) {
    const parent = byPrefix.get(prefix.slice(0, -1).join(","));
    if (!prefix.length || !parent) continue;
    const label = example.order[prefix.length - 1];
    const name = example.classes[label][prefix.at(-1)];
    const node = { prefix, probability: chance, best, children: [], parent, depth: prefix.length, label, name };
    node.truth = parent.truth && example.truth[label] === name;
    node.conditional = parent.probability > 0 ? chance / parent.probability : 0;
    parent.children.push(node);
    byPrefix.set(prefix.join(","), node);
  }
  for (const node of byPrefix.values()) node.children.sort((a, b) => a.prefix.at(-1) - b.prefix.at(-1));
  return { start, nodes: [...byPrefix.values()] };
}

// Hide what is less probable than `least`, but never the best path.
function prune(tree, least) {
  const walk = (node) => {
    node.shown = node.children.filter((child) => child.best || child.probability >= least);
    return [node, ...node.shown.flatMap(walk)];
  };
  return walk(tree.start);
}

// A leaf takes a line, a parent stands in the middle of its children. Labels with one class left get a narrow column,
// so that a chain of a hundred labels still shows its decisions.
function place(nodes, nLabels, room) {
  const isWide = new Array(nLabels + 1).fill(nLabels <= 8);
  for (const node of nodes) if (node.shown.length > 1) isWide[node.depth + 1] = true;
  const nWide = isWide.slice(1).filter(Boolean).length;
  const left = (room - MARGIN - AFTER - NARROW * (nLabels - nWide)) / Math.max(nWide, 1);
  const wide = Math.min(WIDEST, Math.max(NARROWEST, left));
  const xs = [MARGIN];
  for (let depth = 1; depth <= nLabels; depth++) xs.push(xs[depth - 1] + (isWide[depth] ? wide : NARROW));
  let line = 0;
  const put = (node) => {
    node.shown.forEach(put);
    node.x = xs[node.depth];
    node.y = node.shown.length ? (node.shown[0].y + node.shown.at(-1).y) / 2 : HEAD + 20 + ROW * line++;
  };
  put(nodes[0]);
  return { xs, isWide, width: xs[nLabels] + AFTER, height: HEAD + 20 + ROW * Math.max(line, 1) };
}

const describeNode = (example, node) =>
  node.parent
    ? `${example.labels[node.label]} = ${node.name}, ${probability(node.conditional)} given the classes before it; ` +
      `path so far ${probability(node.probability)}` + (node.best ? "; on the best path" : "") + (node.truth ? "; true so far" : "")
    : "start: no label decided";

function drawTree(example, nodes, { xs, isWide, width, height }, onFocus) {
  const heads = [];
  for (let depth = 1; depth < xs.length; depth++) {
    const name = example.labels[example.order[depth - 1]];
    const middle = (xs[depth - 1] + xs[depth]) / 2;
    const tip = draw("title", {}, name);
    if (isWide[depth]) {
      const most = Math.floor((xs[depth] - xs[depth - 1]) / 7.5);
      heads.push(draw("text", { x: middle, y: 20, class: "label", "text-anchor": "middle" }, shortened(name, most), tip));
      heads.push(draw("path", { d: `M${xs[depth]} 30V${height}`, class: "column" }));
    } else heads.push(draw("circle", { cx: middle, cy: 16, r: 2.5, class: "sure" }, tip));
  }
  const branches = [], marks = [];
  for (const node of [...nodes].sort((a, b) => a.best - b.best)) { // the best path last, so that it lies on top
    const kind = (node.best ? " best" : "") + (node.truth ? " truth" : "");
    const wide = isWide[node.depth] || !node.parent;
    if (node.parent) {
      const { x, y } = node.parent, bend = wide ? 30 : 6;
      branches.push(draw("path", {
        d: `M${x} ${y}C${x + bend} ${y} ${x + bend / 2} ${node.y} ${x + bend + (wide ? 4 : 0)} ${node.y}H${node.x}`,
        class: "branch" + kind, "stroke-width": (1 + (node.best ? 1.5 : 0) + 2 * node.probability).toFixed(2),
      }));
      if (wide) {
        const words = `${shortened(node.name, 9)} · ${probability(node.conditional)}`;
        branches.push(draw("text", { x: node.x - 7, y: node.y - 5, class: "branch-name" + kind, "text-anchor": "end" }, words));
      }
    }
    const isEnd = node.depth === xs.length - 1;
    const big = wide || isEnd;
    node.mark = draw("g", {
      class: "node" + kind, role: "treeitem", tabindex: node.parent ? -1 : 0, "aria-level": node.depth + 1,
      "aria-label": describeNode(example, node), onfocus: () => onFocus(node),
    },
      draw("circle", { cx: node.x, cy: node.y, r: 12, class: "touch" }),
      node.truth ? draw("circle", { cx: node.x, cy: node.y, r: big ? 7.5 : 5.5, class: "ring" }) : null,
      draw("circle", { cx: node.x, cy: node.y, r: big ? 4.5 : 2.5, class: "point" }),
      isEnd ? draw("text", { x: node.x + 14, y: node.y + 4, class: "end" }, probability(node.probability)) : null,
      draw("title", {}, describeNode(example, node)));
    marks.push(node.mark);
  }
  const picture = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "tree", role: "tree", "aria-label": "Tree of decisions" }, ...heads, ...branches, ...marks);
  picture.addEventListener("keydown", (event) => walkTree(event, nodes));
  picture.addEventListener("click", (event) => event.target.closest(".node")?.focus());
  return picture;
}

// Arrow keys: right to the best or most probable child, left to the parent, up and down among the nodes of one label.
function walkTree(event, nodes) {
  const node = nodes.find((other) => other.mark === document.activeElement);
  if (!node) return;
  const level = nodes.filter((other) => other.depth === node.depth).sort((a, b) => a.y - b.y);
  const position = level.indexOf(node);
  const likely = [...node.shown].sort((a, b) => b.best - a.best || b.probability - a.probability);
  const next = {
    ArrowRight: likely[0], ArrowLeft: node.parent, ArrowUp: level[position - 1], ArrowDown: level[position + 1],
    Home: nodes[0], End: nodes.filter((other) => other.best).at(-1),
  }[event.key];
  if (!next) return;
  event.preventDefault();
  node.mark.setAttribute("tabindex", -1);
  next.mark.setAttribute("tabindex", 0);
  next.mark.focus();
}
