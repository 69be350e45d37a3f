/** Elements: text goes in as text, never as markup. */

import { show } from "./numbers.js";

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** @template {Element} Kind @param {Kind} node @param {Attributes} attributes @param {Child[]} children */
export function filled(node, attributes, children = []) {
	for (const [name, value] of Object.entries(attributes)) {
		if (value === null || value === undefined || value === false) continue;
		if (typeof value === "function") node.addEventListener(name.slice(2), value);
		else node.setAttribute(name, value === true ? "" : String(value));
	}
	for (const child of children) {
		if (child !== null && child !== undefined && child !== false) node.append(child instanceof Node ? child : String(child));
	}
	return node;
}

/** @type {Make<HTMLElementTagNameMap>} */
export const element = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);

/** Elements with nothing but a class. @type {Plain} */
const plain =
	(tag) =>
	(kind, ...children) =>
		element(tag, { class: kind || null }, ...children);

export const div = plain("div");
export const p = plain("p");
export const span = plain("span");
export const b = plain("b");
export const section = plain("section");

/** @type {Make<SVGElementTagNameMap>} */
export const drawing = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG_NAMESPACE, tag), attributes, children);

/** A row of buttons of which one is pressed. @param {string} label @param {Choice[]} options @param {string} chosen @param {(value: string) => void} choose */
export function choice(label, options, chosen, choose) {
	const buttons = options.map(([value, text]) => {
		const id = `choice-${label}-${value}`.replaceAll(/[^\w-]/g, "_");
		return button({ id, "aria-pressed": String(value) === chosen ? "true" : "false", onclick: () => choose(String(value)) }, text);
	});
	return element("div", { class: "choice", role: "group", "aria-label": label }, span("choice-label", label), ...buttons);
}

/** Say something to those who listen instead of look. @param {string} text */
function announce(text) {
	const region = document.getElementById("announcer");
	if (region) region.textContent = text;
}

/** Run a draw function now and whenever the element's width changes. @param {HTMLElement} node @param {(width: number) => void} draw */
export function drawToWidth(node, draw) {
	let last = 0;
	const observer = new ResizeObserver(() => {
		const width = Math.floor(node.clientWidth);
		if (width === last || width === 0) return;
		last = width;
		draw(width);
	});
	observer.observe(node);
}

/** @param {Attributes} attributes @param {...Child} children */
export function button(attributes, ...children) {
	return element("button", { type: "button", ...attributes }, ...children);
}

/** @param {string} id @param {string} label */
export function field(id, label) {
	return element("input", { type: "text", id, placeholder: label, "aria-label": label, autocomplete: "off" });
}

/** @param {string} kind a class @param {() => void} submit @param {...Child} children */
export function form(kind, submit, ...children) {
	const node = element("form", { class: kind }, ...children);
	node.addEventListener("submit", (event) => {
		event.preventDefault();
		submit();
	});
	return node;
}

/** What makes a part of a drawing a button, for the pointer and for the keyboard. @param {() => void} press */
export function pressable(press) {
	return {
		role: "button",
		tabindex: 0,
		onclick: press,
		onkeydown: (/** @type {KeyboardEvent} */ event) => {
			if (event.key !== "Enter" && event.key !== " ") return;
			event.preventDefault();
			event.stopPropagation();
			press();
		},
	};
}

/** What an element that shows a number carries: the number itself, and where in the trace it stands. @param {number} value @param {Place | null} [place] */
export function marks(value, place) {
	return { "data-value": value, "data-name": place?.name, "data-index": place?.index.join(","), "data-run": place?.run };
}

/** @param {string[]} heads @param {HTMLElement[]} rows @param {string} [kind] a class */
export function table(heads, rows, kind) {
	const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
	return element(
		"div",
		{ class: "table-scroll", tabindex: 0 },
		element("table", { class: kind }, element("thead", {}, head), element("tbody", {}, ...rows)),
	);
}

/** What is no cell yet becomes one. @param {Attributes} attributes @param {Child} head @param {...Child} cells */
export function tableRow(attributes, head, ...cells) {
	const rest = cells.map((each) => (each instanceof HTMLTableCellElement ? each : element("td", {}, each)));
	return element("tr", attributes, element("th", { scope: "row" }, head), ...rest);
}

/** A number in a table. @param {number} value @param {Place | null} [place] @param {string} [text] */
export function cell(value, place, text = show(value)) {
	return element("td", marks(value, place), text);
}

/** @type {Caption} */
export const caption = (kind, x, y, text, anchor = "middle", more = {}) =>
	drawing("text", { class: kind, x, y, "text-anchor": anchor, ...more }, text);

/** A canvas of cells to walk through, by the pointer and by the arrow keys; a click or Enter opens one. @param {HTMLCanvasElement} canvas @param {Walk} walk */
export function walkable(canvas, { size: [numRows, numColumns], at, under, move, open }) {
	canvas.addEventListener("pointermove", (event) => {
		const cell = under(event);
		if (cell) move(cell);
	});
	canvas.addEventListener("click", (event) => {
		const cell = under(event);
		if (cell) move(cell);
		if (cell) open();
	});
	canvas.addEventListener("keydown", (event) => {
		const [row, column] = at();
		const far = event.shiftKey ? 10 : 1;
		const moves = /** @type {Record<string, Cell>} */ ({
			ArrowUp: [Math.max(0, row - far), column],
			ArrowDown: [Math.min(numRows - 1, row + far), column],
			ArrowLeft: [row, Math.max(0, column - far)],
			ArrowRight: [row, Math.min(numColumns - 1, column + far)],
			Home: [row, 0],
			End: [row, numColumns - 1],
		});
		const cell = moves[event.key];
		if (cell) move(cell);
		else if (event.key === "Enter") open();
		else return;
		event.preventDefault();
		event.stopPropagation();
		announce(canvas.getAttribute("aria-label") ?? "");
	});
}

/** A bar as long as its share of the room. @param {number} share @param {string} [kind] a class */
export function bar(share, kind = "") {
	const node = element("i", { class: `bar ${kind}` });
	node.style.width = `${100 * Math.max(0, share)}%`;
	return node;
}

/** A drawing's numbers as a table, made when it is opened. @param {string} title @param {string[]} heads @param {() => HTMLElement[]} rows */
export function twin(title, heads, rows) {
	const details = element("details", {}, element("summary", {}, title));
	details.addEventListener("toggle", () => {
		if (details.childElementCount === 1) details.append(table(heads, rows()));
	});
	return details;
}

/** What each line of a drawing means. @param {[LineStyle, string][]} entries */
export function legend(entries) {
	const parts = entries.map(([{ colour, dash }, text]) => {
		const line = drawing("line", { x2: 28, y1: 4, y2: 4, stroke: colour, "stroke-width": 4, "stroke-dasharray": dash.join(" ") });
		return element("span", {}, drawing("svg", { width: 28, height: 8, "aria-hidden": "true" }, line), " ", text);
	});
	return element("p", { class: "head-legend" }, ...parts);
}
