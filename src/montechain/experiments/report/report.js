// Light and dark; sorting and filtering of tables.

const root = document.documentElement;
const themeButton = document.getElementById("theme");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function showTheme() {
  themeButton.textContent = isDark() ? "Light" : "Dark";
  themeButton.setAttribute("aria-pressed", String(isDark()));
}

// A page that is opened as a file may not be allowed to remember anything.
function remembered() {
  try {
    return localStorage.getItem("montechain-theme");
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    localStorage.setItem("montechain-theme", theme);
  } catch {
    // Then the choice holds until the page is closed.
  }
}

if (["light", "dark"].includes(remembered())) root.dataset.theme = remembered();
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  remember(root.dataset.theme);
  showTheme();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
showTheme();

function sortBy(header) {
  const table = header.closest("table");
  const column = header.cellIndex;
  const before = header.getAttribute("aria-sort");
  const other = { ascending: "descending", descending: "ascending" };
  const direction = other[before] ?? header.dataset.first;
  for (const cell of table.tHead.rows[0].cells) cell.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", direction);

  const sign = direction === "ascending" ? 1 : -1;
  const isNumber = header.dataset.kind === "number";
  const keyed = [...table.tBodies[0].rows].map((row) => {
    const cell = row.cells[column];
    const text = cell.dataset.value ?? cell.textContent;
    return { row, key: isNumber ? Number.parseFloat(text) : text };
  });
  keyed.sort((a, b) => {
    if (!isNumber) return sign * a.key.localeCompare(b.key, "en", { numeric: true });
    // What has no number comes last, whichever way one sorts.
    if (Number.isNaN(a.key) || Number.isNaN(b.key)) return Number.isNaN(a.key) - Number.isNaN(b.key);
    return sign * (a.key - b.key);
  });
  table.tBodies[0].append(...keyed.map(({ row }) => row));
}

for (const header of document.querySelectorAll("table.sortable > thead th")) {
  header.querySelector("button").addEventListener("click", () => sortBy(header));
}

function filterComparison(box) {
  const words = box.querySelector(".search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const flag = box.querySelector(".flag").value;
  const measure = box.querySelector(".measure")?.value ?? "";
  const shown = new Set();
  const rows = box.querySelectorAll(".list tbody tr");
  for (const row of rows) {
    const text = row.textContent.toLowerCase();
    const passes =
      words.every((word) => text.includes(word)) &&
      (!flag || row.dataset.flags.split(" ").includes(flag)) &&
      (!measure || row.dataset.measure === measure);
    row.hidden = !passes;
    if (passes) shown.add(row.dataset.cell);
  }
  for (const cell of box.querySelectorAll(".grids td[data-cell]")) {
    cell.classList.toggle("dim", !shown.has(cell.dataset.cell));
  }
  for (const row of box.querySelectorAll(".grids tbody tr")) {
    row.hidden = !row.querySelector("td[data-cell]:not(.dim)");
  }
  for (const grid of box.querySelectorAll(".grid-box")) {
    grid.hidden = !grid.querySelector("tbody tr:not([hidden])");
  }
  const all = shown.size === rows.length;
  box.querySelector(".count").textContent = all ? `${rows.length} figures` : `${shown.size} of ${rows.length} figures`;
}

function showView(box, view) {
  for (const part of box.querySelectorAll(".view")) part.hidden = !part.classList.contains(view);
  for (const button of box.querySelectorAll("[data-view]")) {
    button.setAttribute("aria-pressed", String(button.dataset.view === view));
  }
}

for (const box of document.querySelectorAll(".comparison")) {
  box.querySelector(".controls").addEventListener("input", () => filterComparison(box));
  for (const button of box.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => showView(box, button.dataset.view));
  }
}
