// Making elements. Text goes in as text only, so no name can become markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

// Probabilities: three decimals, or as many digits as tell it from nothing.
function probability(value) {
  if (value >= 0.0005) return value.toFixed(3);
  return value === 0 ? "0" : value.toExponential(1);
}

const shortened = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
