/** Small pieces that several panels share. */

import { bar, button, element, marks } from "./dom.js";
import { percent, readable } from "./numbers.js";

/**
 * Where in the source a box is computed.
 * @param {App} app
 * @param {string} box
 */
export function codeLink(app, box) {
	const place = app.doc.code[box];
	if (!place) return null;
	const file = place.file.slice(place.file.lastIndexOf("/") + 1);
	return element("code", { class: "code-link", title: `computed in ${place.file}, line ${place.line}` }, `${file}:${place.line}`);
}

/**
 * The most probable pieces at a step, the written one marked.
 * @param {App} app
 * @param {number} step
 * @param {number} most
 */
export function probabilityBars(app, step, most) {
	const written = app.doc.output[step];
	const top = (written?.top ?? []).slice(0, most);
	if (written && !top.some((each) => each.token === written.token)) top.push(written);
	return element(
		"ol",
		{ class: "bars" },
		...top.map((each) => {
			const place = { name: "probabilities", index: [step, each.token] };
			const shown = marks(each.probability, place);
			return element(
				"li",
				{ class: each.token === written?.token ? "chosen" : "" },
				element("b", { title: each.piece }, readable(each.piece)),
				element("span", { class: "track" }, bar(each.probability)),
				app.has("probabilities")
					? button({ class: "operand", title: "its arithmetic", ...shown, onclick: () => app.open(place) }, percent(each.probability))
					: element("span", shown, percent(each.probability)),
			);
		}),
	);
}

/**
 * A sentence the reader can act on, when something cannot be shown.
 * @param {unknown} error
 */
export function trouble(error) {
	return element("p", { class: "trouble", role: "alert" }, error instanceof Error ? error.message : String(error));
}

/**
 * A part of a panel.
 * @param {Child | Child[]} title
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function card(title, ...children) {
	return element("section", { class: "card" }, element("h3", {}, ...[title].flat()), ...children);
}

/** What a panel says first. @param {...Child} children @returns {HTMLElement} */
export function lead(...children) {
	return element("p", { class: "lead" }, ...children);
}
