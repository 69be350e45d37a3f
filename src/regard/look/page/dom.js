/** Elements without a framework: text goes in as text, never as markup. */

const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/** @param {Element} node @param {Attributes} attributes names that begin with "on" are listeners */
function applyAttributes(node, attributes) {
	for (const [name, value] of Object.entries(attributes)) {
		if (value === null || value === undefined || value === false) continue;
		if (typeof value === "function") node.addEventListener(name.slice(2), value);
		else node.setAttribute(name, value === true ? "" : String(value));
	}
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
	const node = document.createElement(tag);
	applyAttributes(node, attributes);
	node.append(...children.filter(isPresent).map((child) => (child instanceof Node ? child : String(child))));
	return node;
}

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function drawing(tag, attributes = {}, ...children) {
	const node = document.createElementNS(SVG_NAMESPACE, tag);
	applyAttributes(node, attributes);
	node.append(...children.filter(isPresent).map((child) => (child instanceof Node ? child : String(child))));
	return node;
}

/** @param {Child} child @returns {child is Node | string | number} */
function isPresent(child) {
	return child !== null && child !== undefined && child !== false;
}

/**
 * A row of buttons of which one is pressed.
 * @param {string} label
 * @param {{value: string, text: string, title?: string}[]} options
 * @param {string} chosen
 * @param {(value: string) => void} choose
 */
export function choice(label, options, chosen, choose) {
	return element(
		"div",
		{ class: "choice", role: "group", "aria-label": label },
		element("span", { class: "choice-label" }, label),
		...options.map((option) =>
			button(
				{
					id: `choice-${label}-${option.value}`.replaceAll(/[^\w-]/g, "_"),
					"aria-pressed": option.value === chosen ? "true" : "false",
					title: option.title,
					onclick: () => choose(option.value),
				},
				option.text,
			),
		),
	);
}

/**
 * Say something to those who listen instead of look.
 * @param {string} text
 */
export function announce(text) {
	const region = document.getElementById("announcer");
	if (region) region.textContent = text;
}

/**
 * Run a draw function now and whenever the element's width changes.
 * @param {HTMLElement} node
 * @param {(width: number) => void} draw
 */
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

/**
 * @param {Attributes} attributes
 * @param {...Child} children
 */
export function button(attributes, ...children) {
	return element("button", { type: "button", ...attributes }, ...children);
}

/**
 * What makes a part of a drawing a button, for the pointer and for the keyboard.
 * @param {() => void} press
 */
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

/**
 * What an element that shows a number carries: the number itself, and where in the trace it stands.
 * @param {number} value
 * @param {Place | null} [place]
 */
export function marks(value, place) {
	return { "data-value": value, "data-name": place?.name, "data-index": place?.index.join(",") };
}

/**
 * @param {string[]} heads
 * @param {HTMLElement[]} rows
 * @param {string} [kind] a class
 */
export function table(heads, rows, kind) {
	const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
	return element(
		"div",
		{ class: "table-scroll", tabindex: 0 },
		element("table", { class: kind }, element("thead", {}, head), element("tbody", {}, ...rows)),
	);
}

/**
 * @param {Attributes} attributes
 * @param {Child} head
 * @param {...Child} cells
 */
export function tableRow(attributes, head, ...cells) {
	return element("tr", attributes, element("th", { scope: "row" }, head), ...cells);
}

/**
 * A bar as long as its share of the room.
 * @param {number} share
 * @param {string} [kind] a class
 */
export function bar(share, kind = "") {
	const node = element("i", { class: `bar ${kind}` });
	node.style.width = `${100 * Math.max(0, share)}%`;
	return node;
}

/**
 * What each colour means.
 * @param {[string, string][]} entries colour and text
 */
export function legend(entries) {
	const parts = entries.map(([colour, text]) => {
		const swatch = element("i");
		swatch.style.background = colour;
		return element("span", {}, swatch, text);
	});
	return element("p", { class: "head-legend" }, ...parts);
}
