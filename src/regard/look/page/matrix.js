/**
 * A heat map that can be read: exact values under the pointer and under the arrow keys, Enter or a click
 * opens a number's arithmetic, and a button turns the picture into a table.
 */

import { colourAt, cssColour, inkOn, shareScale, signedScale, styleColour } from "./colours.js";
import { announce, button, drawing, drawToWidth, element, marks } from "./dom.js";
import { show } from "./numbers.js";

/** @import { Place } from "./types.js" */

/**
 * @typedef {object} MatrixOptions
 * @property {string} title
 * @property {string} [note]
 * @property {string[]} rows
 * @property {string[] | number} columns labels, or how many features there are
 * @property {string} [rowAxis]
 * @property {string} [columnAxis]
 * @property {(row: number, column: number) => number} value
 * @property {(row: number, column: number) => Place | null} [place]
 * @property {(row: number, column: number) => string | null} [hidden] why a cell may not be seen
 * @property {"share" | "signed"} scale
 * @property {number} [limit] the size at which a signed scale is full
 * @property {Cursor} [cursor] shared by matrices of the same cells
 * @property {number} [markedRow]
 * @property {[number, number]} [markedColumns] first and one past the last
 * @property {number} [rowHeight]
 * @property {(place: Place) => void} [open]
 * @property {string} [role] a class: query, key, value
 */

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

const LABEL_SPACE = 76;
const AXIS_SPACE = 20;
const MOST_TABLE_CELLS = 40000;

/** @param {MatrixOptions} options */
export function matrix(options) {
	const numColumns = typeof options.columns === "number" ? options.columns : options.columns.length;
	const cursor = options.cursor ?? new Cursor(options.markedRow ?? 0, 0);
	const canvas = element("canvas", { tabindex: 0, role: "img" });
	const overlay = drawing("svg", { class: "overlay", "aria-hidden": "true" });
	const stage = element("div", { class: "matrix-stage" }, canvas, overlay);
	const readout = element("output", { class: "readout" });
	const hint =
		options.place && options.open ? element("span", { class: "hint" }, "click or Enter: its arithmetic") : null;
	const legend = element("span", { class: "legend", "aria-hidden": "true" });
	/** @type {HTMLElement} */
	const figure = element(
		"figure",
		{ class: `matrix ${options.role ?? ""}`, "data-title": options.title },
		element(
			"figcaption",
			{},
			element("strong", {}, options.title),
			options.note ? element("span", { class: "note" }, options.note) : null,
			legend,
			tableButton(options, numColumns, () => figure),
		),
		stage,
		element("div", { class: "matrix-foot" }, readout, hint),
	);
	const layout = { left: LABEL_SPACE, top: AXIS_SPACE, cell: 1, height: 1 };

	/** @param {number} row @param {number} column */
	const describe = (row, column) => {
		const rowName = options.rows[row] ?? String(row);
		const columnName = typeof options.columns === "number" ? `feature ${column}` : (options.columns[column] ?? "");
		return typeof options.columns === "number" ? `${rowName}, ${columnName}` : `${rowName} → ${columnName}`;
	};

	const showCursor = () => {
		const row = Math.min(cursor.row, options.rows.length - 1);
		const column = Math.min(cursor.column, numColumns - 1);
		const value = options.value(row, column);
		const reason = options.hidden?.(row, column);
		const text = `${describe(row, column)}: ${show(value)}${reason ? ` (${reason})` : ""}`;
		canvas.setAttribute("aria-label", `${options.title}. ${text}`);
		const place = options.place?.(row, column);
		readout.replaceChildren(
			element("span", {}, describe(row, column)),
			" ",
			element("b", marks(value, place), show(value)),
			reason ? element("span", { class: "reason" }, reason) : "",
		);
		placeFrame(overlay, layout, row, column);
	};

	drawToWidth(stage, (width) => {
		const scale = scaleOf(options, numColumns);
		paint(options, numColumns, width, canvas, overlay, layout, scale);
		drawLegend(legend, scale);
		showCursor();
	});
	cursor.listeners.add(showCursor);

	/** @param {PointerEvent} event @returns {[number, number] | null} */
	const cellUnder = (event) => {
		const box = canvas.getBoundingClientRect();
		const column = Math.floor((event.clientX - box.left) / layout.cell);
		const row = Math.floor((event.clientY - box.top) / layout.height);
		return row >= 0 && row < options.rows.length && column >= 0 && column < numColumns ? [row, column] : null;
	};
	const openCursor = () => {
		const place = options.place?.(cursor.row, cursor.column);
		if (place) options.open?.(place);
	};
	canvas.addEventListener("pointermove", (event) => {
		const cell = cellUnder(event);
		if (cell) cursor.move(...cell);
	});
	canvas.addEventListener("click", (event) => {
		const cell = cellUnder(/** @type {PointerEvent} */ (event));
		if (!cell) return;
		cursor.move(...cell);
		openCursor();
	});
	canvas.addEventListener("keydown", (event) => {
		const last = { row: options.rows.length - 1, column: numColumns - 1 };
		const far = event.shiftKey ? 10 : 1;
		const moves = /** @type {Record<string, [number, number]>} */ ({
			ArrowUp: [Math.max(0, cursor.row - far), cursor.column],
			ArrowDown: [Math.min(last.row, cursor.row + far), cursor.column],
			ArrowLeft: [cursor.row, Math.max(0, cursor.column - far)],
			ArrowRight: [cursor.row, Math.min(last.column, cursor.column + far)],
			Home: [cursor.row, 0],
			End: [cursor.row, last.column],
		});
		const move = moves[event.key];
		if (move) cursor.move(...move);
		else if (event.key === "Enter") openCursor();
		else return;
		event.preventDefault();
		event.stopPropagation();
		announce(canvas.getAttribute("aria-label") ?? "");
	});
	return figure;
}

/** @param {MatrixOptions} options @param {number} numColumns @returns {import("./colours.js").Scale} */
function scaleOf(options, numColumns) {
	if (options.scale === "share") return shareScale();
	if (options.limit) return signedScale(options.limit);
	const values = new Float64Array(options.rows.length * numColumns);
	for (let i = 0; i < values.length; i++) {
		values[i] = options.value(Math.floor(i / numColumns), i % numColumns);
	}
	return signedScale(fullAt(values));
}

/** @param {HTMLElement} legend @param {import("./colours.js").Scale} scale */
function drawLegend(legend, scale) {
	const ramp = element("i");
	const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => cssColour(scale, scale.low + share * (scale.high - scale.low)));
	ramp.style.background = `linear-gradient(90deg, ${stops.join(", ")})`;
	const digits = scale.high >= 10 ? 0 : scale.high >= 1 ? 1 : 2;
	legend.replaceChildren(
		scale.low.toFixed(scale.low ? digits : 0).replace("-", "−"),
		ramp,
		scale.high.toFixed(scale.low ? digits : 0),
	);
}

/**
 * The size that all but one in a hundred values stay below: a few large ones must not make the rest pale.
 * @param {Float64Array} values
 */
function fullAt(values) {
	const sizes = values.map(Math.abs).filter(Number.isFinite).sort();
	return sizes[Math.floor(0.99 * (sizes.length - 1))] ?? 1;
}

/**
 * @param {MatrixOptions} options
 * @param {number} numColumns
 * @param {number} width
 * @param {HTMLCanvasElement} canvas
 * @param {SVGSVGElement} overlay
 * @param {{left: number, top: number, cell: number, height: number}} layout
 * @param {import("./colours.js").Scale} scale
 */
function paint(options, numColumns, width, canvas, overlay, layout, scale) {
	const numRows = options.rows.length;
	const isFeature = typeof options.columns === "number";
	const longest = Math.max(...options.rows.map((label) => label.length), 1);
	layout.left = Math.min(LABEL_SPACE, longest * 7 + 10);
	const cell = Math.min((width - layout.left - 2) / numColumns, isFeature ? 14 : 46);
	const height = options.rowHeight ?? (isFeature ? Math.max(9, Math.min(18, cell)) : Math.max(12, Math.min(34, cell)));
	const columnLabels = typeof options.columns === "number" ? [] : options.columns;
	const slanted = !isFeature && Math.max(...columnLabels.map((label) => label.length), 1) * 7 > cell;
	layout.top = isFeature ? AXIS_SPACE : slanted ? 52 : AXIS_SPACE + 2;
	layout.cell = cell;
	layout.height = height;

	const ratio = window.devicePixelRatio || 1;
	canvas.width = Math.max(1, Math.round(cell * numColumns * ratio));
	canvas.height = Math.max(1, Math.round(height * numRows * ratio));
	canvas.style.width = `${cell * numColumns}px`;
	canvas.style.height = `${height * numRows}px`;
	canvas.style.left = `${layout.left}px`;
	canvas.style.top = `${layout.top}px`;
	const stage = canvas.parentElement;
	if (stage) stage.style.height = `${layout.top + height * numRows + 2}px`;

	const context = canvas.getContext("2d");
	if (!context) return;
	paintCells(context, options, scale, numColumns);
	if (cell >= 7 && height >= 7) paintGrid(context, numRows, numColumns);
	paintHidden(context, options, numColumns);
	if (!isFeature && cell >= 34) paintNumbers(context, options, scale, numColumns);
	paintLabels(overlay, options, columnLabels, numColumns, layout, slanted);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {MatrixOptions} options
 * @param {import("./colours.js").Scale} scale
 * @param {number} numColumns
 */
function paintCells(context, options, scale, numColumns) {
	const numRows = options.rows.length;
	const image = new ImageData(numColumns, numRows);
	for (let row = 0; row < numRows; row++) {
		for (let column = 0; column < numColumns; column++) {
			const value = options.value(row, column);
			if (!Number.isFinite(value)) continue;
			const colour = colourAt(scale, value);
			image.data.set(scale.table.subarray(colour, colour + 4), 4 * (row * numColumns + column));
		}
	}
	const small = element("canvas", { width: numColumns, height: numRows });
	small.getContext("2d")?.putImageData(image, 0, 0);
	context.imageSmoothingEnabled = false;
	context.drawImage(small, 0, 0, context.canvas.width, context.canvas.height);
}

/** @param {CanvasRenderingContext2D} context @param {number} numRows @param {number} numColumns */
function paintGrid(context, numRows, numColumns) {
	const { width, height } = context.canvas;
	context.strokeStyle = styleColour("--card");
	context.lineWidth = 1;
	context.beginPath();
	for (let row = 1; row < numRows; row++) {
		const y = Math.round((row / numRows) * height) + 0.5;
		context.moveTo(0, y);
		context.lineTo(width, y);
	}
	for (let column = 1; column < numColumns; column++) {
		const x = Math.round((column / numColumns) * width) + 0.5;
		context.moveTo(x, 0);
		context.lineTo(x, height);
	}
	context.stroke();
}

/**
 * Hidden cells are hatched, so that they differ from small values by more than colour.
 * @param {CanvasRenderingContext2D} context
 * @param {MatrixOptions} options
 * @param {number} numColumns
 */
function paintHidden(context, options, numColumns) {
	if (!options.hidden) return;
	const width = context.canvas.width / numColumns;
	const height = context.canvas.height / options.rows.length;
	context.strokeStyle = styleColour("--hatch");
	const card = styleColour("--card");
	context.lineWidth = 1;
	for (let row = 0; row < options.rows.length; row++) {
		for (let column = 0; column < numColumns; column++) {
			if (!options.hidden(row, column)) continue;
			context.save();
			context.beginPath();
			context.rect(column * width, row * height, width, height);
			context.clip();
			context.fillStyle = card;
			context.fill();
			context.beginPath();
			for (let shift = -height; shift < width; shift += 6) {
				context.moveTo(column * width + shift, (row + 1) * height);
				context.lineTo(column * width + shift + height, row * height);
			}
			context.stroke();
			context.restore();
		}
	}
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {MatrixOptions} options
 * @param {import("./colours.js").Scale} scale
 * @param {number} numColumns
 */
function paintNumbers(context, options, scale, numColumns) {
	const width = context.canvas.width / numColumns;
	const height = context.canvas.height / options.rows.length;
	const ratio = window.devicePixelRatio || 1;
	context.font = `${11 * ratio}px ${getComputedStyle(document.documentElement).getPropertyValue("--digits")}`;
	context.textAlign = "center";
	context.textBaseline = "middle";
	const soft = styleColour("--soft");
	for (let row = 0; row < options.rows.length; row++) {
		for (let column = 0; column < numColumns; column++) {
			const value = options.value(row, column);
			const isHidden = options.hidden?.(row, column);
			context.fillStyle = isHidden ? soft : inkOn(scale, value);
			const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
			const text = Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : "−∞";
			context.fillText(text, (column + 0.5) * width, (row + 0.5) * height);
		}
	}
}

/**
 * @param {SVGSVGElement} overlay
 * @param {MatrixOptions} options
 * @param {string[]} columnLabels
 * @param {number} numColumns
 * @param {{left: number, top: number, cell: number, height: number}} layout
 * @param {boolean} slanted
 */
function paintLabels(overlay, options, columnLabels, numColumns, layout, slanted) {
	const { left, top, cell, height } = layout;
	const parts = [];
	const everyRow = Math.ceil(10 / height);
	options.rows.forEach((label, row) => {
		if (row % everyRow) return;
		const isMarked = row === options.markedRow;
		const y = top + (row + 0.5) * height + 4;
		const text = label.length > 10 ? `${label.slice(0, 9)}…` : label;
		parts.push(
			drawing(
				"text",
				{
					x: left - 6,
					y,
					"text-anchor": "end",
					class: `label ${isMarked ? "marked" : ""} ${height < 14 ? "tight" : ""}`,
				},
				text,
			),
		);
	});
	if (typeof options.columns === "number") {
		const every = niceStep(numColumns / ((cell * numColumns) / 60));
		for (let column = 0; column < numColumns; column += every) {
			const x = left + (column + 0.5) * cell;
			parts.push(drawing("text", { x, y: top - 6, "text-anchor": column ? "middle" : "start", class: "axis" }, column));
		}
	} else {
		const every = Math.ceil(11 / cell);
		columnLabels.forEach((label, column) => {
			if (column % every) return;
			const x = left + (column + 0.5) * cell;
			const text = label.length > 9 ? `${label.slice(0, 8)}…` : label;
			const turn = slanted ? `rotate(-50 ${x} ${top - 6})` : null;
			parts.push(
				drawing(
					"text",
					{ x, y: top - 6, "text-anchor": slanted ? "start" : "middle", transform: turn, class: "label" },
					text,
				),
			);
		});
	}
	if (options.markedRow !== undefined) {
		const y = top + options.markedRow * height;
		parts.push(drawing("rect", { class: "marked-row", x: left, y, width: cell * numColumns, height }));
	}
	if (options.markedColumns) {
		const [first, end] = options.markedColumns;
		const box = { x: left + first * cell, y: top, width: (end - first) * cell, height: height * options.rows.length };
		parts.push(drawing("rect", { class: "marked-columns", ...box }));
	}
	parts.push(drawing("rect", { class: "frame" }));
	overlay.replaceChildren(...parts);
}

/** @param {number} rough @returns {number} the next of 1, 2, 4, 8, 16, … */
function niceStep(rough) {
	return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, rough))));
}

/**
 * @param {SVGSVGElement} overlay
 * @param {{left: number, top: number, cell: number, height: number}} layout
 * @param {number} row
 * @param {number} column
 */
function placeFrame(overlay, layout, row, column) {
	const frame = overlay.querySelector(".frame");
	if (!frame) return;
	const width = Math.max(layout.cell, 4);
	frame.setAttribute("x", String(layout.left + (column + 0.5) * layout.cell - width / 2));
	frame.setAttribute("y", String(layout.top + row * layout.height));
	frame.setAttribute("width", String(width));
	frame.setAttribute("height", String(layout.height));
}

/** @param {MatrixOptions} options @param {number} numColumns @param {() => HTMLElement} figure */
function tableButton(options, numColumns, figure) {
	const toggle = button({ class: "small", "aria-expanded": "false" }, "table");
	/** @type {HTMLElement | null} */
	let table = null;
	toggle.addEventListener("click", () => {
		if (table) {
			table.remove();
			table = null;
		} else {
			table = tableOfMatrix(options, numColumns);
			figure().append(table);
		}
		toggle.setAttribute("aria-expanded", table ? "true" : "false");
	});
	return toggle;
}

/** @param {MatrixOptions} options @param {number} numColumns */
function tableOfMatrix(options, numColumns) {
	const { rows, columns } = options;
	const shownColumns = Math.min(numColumns, Math.floor(MOST_TABLE_CELLS / rows.length));
	const heads = Array.from({ length: shownColumns }, (_, j) =>
		typeof columns === "number" ? String(j) : (columns[j] ?? ""),
	);
	return element(
		"div",
		{ class: "table-scroll", tabindex: 0, role: "region", "aria-label": `${options.title} as a table` },
		element(
			"table",
			{},
			element(
				"caption",
				{},
				`${options.title}${shownColumns < numColumns ? `: the first ${shownColumns} of ${numColumns} columns` : ""}`,
			),
			element(
				"thead",
				{},
				element("tr", {}, element("td"), ...heads.map((head) => element("th", { scope: "col" }, head))),
			),
			element(
				"tbody",
				{},
				...rows.map((label, row) =>
					element(
						"tr",
						{},
						element("th", { scope: "row" }, label),
						...heads.map((_, column) => {
							const value = options.value(row, column);
							const place = options.place?.(row, column);
							return element("td", { ...marks(value, place), title: options.hidden?.(row, column) }, show(value));
						}),
					),
				),
			),
		),
	);
}
