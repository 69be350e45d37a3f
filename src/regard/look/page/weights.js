/** The weights of one layer as a table, one of them as a heat map that the server makes small. */

import { button, element, p, table, tableRow } from "./dom.js";
import { matrix } from "./matrix.js";
import { count, show } from "./numbers.js";
import { card, lead } from "./parts.js";
import { range } from "./tensor.js";

/** @typedef {{ rows: number[], columns: number[], step: number[], cells: number[][], smallest: number, largest: number }} Window */

/** The layer that a weight is of. @param {string} name */
const layerOf = (name) => /^\w+\.layers\.\d+/.exec(name)?.[0] ?? "outside the layers";

/** What is in view is the focus: a layer, or a weight, or after @ a window of it. @param {App} app */
export async function weightsView(app) {
	const { parameters, model } = app.doc;
	const [focus = "", window = ""] = app.state.focus.split("@");
	const layers = [...new Set(Object.keys(parameters).map(layerOf))];
	const layer = layers.includes(focus) ? focus : focus in parameters ? layerOf(focus) : layers[0];
	const select = element(
		"select",
		{ id: "layer-of-weights", "aria-label": "layer", onchange: () => app.go({ focus: select.value }) },
		...layers.map((each) => element("option", { value: each, selected: each === layer }, each)),
	);
	const rows = Object.entries(parameters).flatMap(([name, shape]) => {
		if (layerOf(name) !== layer) return [];
		const shown = { class: "small", id: `weights-${name}`, "aria-pressed": focus === name ? "true" : "false", onclick: () => app.go({ focus: name }) };
		const size = shape.reduce((product, each) => product * each, 1);
		return [tableRow({}, button(shown, name.replace(`${layer}.`, "")), shape.join(" × "), count(size))];
	});
	return [
		lead(`The ${count(model.num_parameters)} numbers that training has found. Those of a layer are fetched when you ask for them.`),
		card("A layer", select, table(["", "shape", "numbers"], rows)),
		focus in parameters ? await heatMap(app, focus, window) : "",
	];
}

/** @param {App} app @param {string} name @param {string} window */
async function heatMap(app, name, window) {
	const [asked = "", columns = ""] = window.split(",");
	const response = await fetch(`api/weights/${name}?run=${app.state.run}&rows=${asked}&columns=${columns}`);
	const answer = await response.json();
	if (!response.ok) throw new Error(answer.error);
	const found = /** @type {Window} */ (answer);
	const [[top = 0, bottom = 0], [left = 0, right = 0], [high = 1, wide = 1]] = [found.rows, found.columns, found.step];
	const isWhole = high * wide === 1;
	/** @param {{ index: number[] }} place a block, to see what is in it */
	const zoom = ({ index: [row = 0, column = 0] }) => {
		const ends = [Math.min(row + high, bottom), Math.min(column + wide, right)];
		app.go({ focus: `${name}@${row}-${ends[0]},${column}-${ends[1]}` });
	};
	const shown = matrix({
		title: name,
		note: isWhole ? `${bottom - top} × ${right - left}` : `root mean square of blocks of ${high} × ${wide}`,
		rows: found.cells.map((_, i) => String(top + i * high)),
		columns: range(found.cells[0]?.length ?? 0).map((i) => String(left + i * wide)),
		value: (row, column) => found.cells[row]?.[column] ?? NaN,
		place: (row, column) => ({ name: isWhole ? `param:${name}` : "", index: [top + row * high, left + column * wide] }),
		scale: "signed",
		rowHeight: found.cells.length > 32 ? 11 : 16,
		open: isWhole ? undefined : zoom,
		hint: "click or Enter: what is in the block",
	});
	const back = window && button({ class: "small", id: "whole-weight", onclick: () => app.go({ focus: name }) }, "the whole");
	return card(["Rows and columns", back || null], p("", `From ${show(found.smallest)} to ${show(found.largest)}.`), shown);
}
