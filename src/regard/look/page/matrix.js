/** A heat map to read: values under the pointer and the arrow keys, Enter or a click opens one's arithmetic, a button makes a table. */

import { cssColour } from "./colours.js";
import { button, div, drawToWidth, element, marks, span, table, tableRow, walkable } from "./dom.js";
import { Heatmap } from "./heatmap.js";
import { show } from "./numbers.js";
import { range } from "./tensor.js";

/** The cell in view, shared by all matrices that show the same rows and columns. */
export class Cursor {
	constructor(row = 0, column = 0) {
		this.row = row;
		this.column = column;
		/** @type {Set<() => void>} */
		this.listeners = new Set();
	}

	/** @param {number} row @param {number} column */
	move(row, column) {
		if (row === this.row && column === this.column) return;
		this.row = row;
		this.column = column;
		for (const listener of this.listeners) listener();
	}
}

/** @param {MatrixOptions} options */
export function matrix(options) {
	const map = new Heatmap(options);
	const { canvas } = map;
	const cursor = options.cursor ?? new Cursor(options.markedRow ?? 0, 0);
	const readout = element("output", { class: "readout" });
	const legend = element("span", { class: "legend", "aria-hidden": "true" });
	const twin = button({ class: "small", "aria-expanded": "false" }, "table");
	const hint = options.place && options.open ? span("hint", options.hint ?? "click or Enter: its arithmetic") : null;
	const note = options.note ? span("note", options.note) : null;
	const figure = element(
		"figure",
		{ class: `matrix ${options.role ?? ""}`, id: options.id, "data-title": options.title },
		element("figcaption", {}, element("strong", {}, options.title), note, span("tools", legend, twin)),
		map.stage,
		div("matrix-foot", readout, hint),
	);

	const showCursor = () => {
		const row = Math.min(cursor.row, map.numRows - 1);
		const column = Math.min(cursor.column, map.numColumns - 1);
		const value = options.value(row, column);
		const reason = options.hidden?.(row, column);
		const place = options.place?.(row, column);
		const what = map.labels ? `${options.rows[row]} → ${map.labels[column]}` : `${options.rows[row]}, feature ${column}`;
		canvas.setAttribute("aria-label", `${options.title}. ${what}: ${show(value)}${reason ? ` (${reason})` : ""}`);
		readout.replaceChildren(`${what} `, element("b", marks(value, place), show(value)), reason ? span("reason", reason) : "");
		map.placeFrame(row, column);
	};
	drawToWidth(map.stage, (width) => {
		map.paint(width);
		drawLegend(legend, map.scale);
		showCursor();
	});
	cursor.listeners.add(showCursor);

	walkable(canvas, {
		size: [map.numRows, map.numColumns],
		at: () => [cursor.row, cursor.column],
		under: (event) => map.cellUnder(event),
		move: (cell) => cursor.move(...cell),
		open: () => {
			const place = options.place?.(cursor.row, cursor.column);
			if (place) options.open?.(place);
		},
	});
	twin.addEventListener("click", () => {
		const shown = figure.querySelector(".table-scroll");
		if (shown) shown.remove();
		else figure.append(tableTwin(options, map));
		twin.setAttribute("aria-expanded", shown ? "false" : "true");
	});
	return figure;
}

/** @param {HTMLElement} legend @param {Scale} scale */
function drawLegend(legend, scale) {
	const ramp = element("i");
	const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => cssColour(scale, scale.low + share * (scale.high - scale.low)));
	ramp.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
	const digits = scale.low === 0 || scale.high >= 10 ? 0 : scale.high >= 1 ? 1 : 2;
	legend.replaceChildren(scale.low.toFixed(digits).replace("-", "−"), ramp, scale.high.toFixed(digits));
}

/** @param {MatrixOptions} options @param {Heatmap} map */
function tableTwin(options, map) {
	const heads = map.labels ?? range(map.numColumns).map(String);
	const rows = options.rows.map((label, row) => {
		const cells = heads.map((_, column) => {
			const value = options.value(row, column);
			return element("td", { ...marks(value, options.place?.(row, column)), title: options.hidden?.(row, column) }, show(value));
		});
		return tableRow({}, label, ...cells);
	});
	return table(["", ...heads], rows);
}
