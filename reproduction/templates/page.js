// Light and dark, what the cells of a table show, and sorting.
const root = document.documentElement;
const theme = document.getElementById("theme");
const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const nameTheme = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
theme.addEventListener("click", () => { root.dataset.theme = isDark() ? "light" : "dark"; nameTheme(); });
nameTheme();

for (const button of document.querySelectorAll("[data-view]")) {
  button.addEventListener("click", () => {
    const grid = button.closest(".grid");
    grid.dataset.shown = button.dataset.view;
    for (const cell of grid.querySelectorAll("td")) cell.textContent = cell.dataset[button.dataset.view];
    for (const other of grid.querySelectorAll("[data-view]")) other.setAttribute("aria-pressed", String(other === button));
  });
}

const numberIn = (text) => Number.parseFloat(text.replace("−", "-").replaceAll(",", ""));

function sortBy(header) {
  const column = header.cellIndex;
  const body = header.closest("table").tBodies[0];
  const direction = header.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
  for (const other of header.parentNode.cells) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", direction);
  const sign = direction === "ascending" ? 1 : -1;
  const rows = [...body.rows].map((row) => ({ row, text: row.cells[column].textContent }));
  rows.sort((a, b) => {
    const [x, y] = [numberIn(a.text), numberIn(b.text)];
    if (Number.isNaN(x) && Number.isNaN(y)) return sign * a.text.localeCompare(b.text);
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y); // no number comes last
    return sign * (x - y);
  });
  body.append(...rows.map(({ row }) => row));
}

for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => sortBy(button.parentNode));
}

// Elements; text goes in as text, so no name can become markup.
function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}
const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
const probability = (p) => (p >= 0.0005 ? p.toFixed(3) : p === 0 ? "0" : p.toExponential(1));
const shortened = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
