/** The painting of a heat map: cells and numbers on a canvas, labels and frames in a drawing above it. */

import { colourAt, inkOn, shareScale, signedScale, styleColour } from "./colours.js";
import { caption, div, drawing, element, filled } from "./dom.js";
import { range } from "./tensor.js";

const LABEL_SPACE = 76;
const NUMBERS_FROM = 34;

export class Heatmap {
	/** @param {HeatmapOptions} options */
	constructor(options) {
		this.options = options;
		this.labels = typeof options.columns === "number" ? null : options.columns;
		this.numRows = options.rows.length;
		this.numColumns = typeof options.columns === "number" ? options.columns : options.columns.length;
		this.canvas = element("canvas", { tabindex: 0, role: "img" });
		this.overlay = drawing("svg", { class: "overlay", "aria-hidden": "true" });
		this.frame = drawing("rect", { class: "frame" });
		this.stage = div("matrix-stage", this.canvas, this.overlay);
		this.scale = shareScale();
		this.left = LABEL_SPACE;
		this.top = 20;
		this.cell = 1;
		this.height = 1;
	}

	/** @returns {Scale} */
	scaleNow() {
		const { scale, limit, value } = this.options;
		if (scale === "share") return shareScale(limit);
		if (limit) return signedScale(limit);
		const sizes = new Float64Array(this.numRows * this.numColumns);
		this.each((row, column) => (sizes[row * this.numColumns + column] = Math.abs(value(row, column))));
		const sorted = sizes.filter(Number.isFinite).sort();
		// Full where all but one in a hundred stay below: a few large values must not make the rest pale.
		return signedScale(sorted[Math.floor(0.99 * (sorted.length - 1))] ?? 1);
	}

	/** @param {(row: number, column: number) => void} visit */
	each(visit) {
		for (let row = 0; row < this.numRows; row++) for (let column = 0; column < this.numColumns; column++) visit(row, column);
	}

	/** @param {number} width */
	paint(width) {
		const { canvas, labels, numRows, numColumns, options } = this;
		this.left = Math.min(LABEL_SPACE, Math.max(...options.rows.map((label) => label.length), 1) * 7 + 10);
		const cell = Math.min((width - this.left - 2) / numColumns, labels ? 46 : 14);
		const height = options.rowHeight ?? (labels ? Math.max(12, Math.min(34, cell)) : Math.max(9, Math.min(18, cell)));
		const longest = 7 * Math.min(9, Math.max(...(labels ?? [""]).map((label) => label.length)));
		const isSlanted = longest > cell;
		Object.assign(this, { cell, height, top: isSlanted ? 18 + 0.77 * longest : 22, scale: this.scaleNow() });
		const ratio = devicePixelRatio || 1;
		canvas.width = Math.max(1, Math.round(cell * numColumns * ratio));
		canvas.height = Math.max(1, Math.round(height * numRows * ratio));
		Object.assign(canvas.style, {
			width: `${cell * numColumns}px`,
			height: `${height * numRows}px`,
			left: `${this.left}px`,
			top: `${this.top}px`,
		});
		this.stage.style.height = `${this.top + height * numRows + 2}px`;
		const context = canvas.getContext("2d");
		if (!context) return;
		this.paintCells(context);
		if (cell >= 7 && height >= 7) this.paintGrid(context);
		if (options.hidden) this.paintHidden(context, options.hidden);
		if (labels && cell >= NUMBERS_FROM) this.paintNumbers(context);
		this.overlay.replaceChildren(...this.rowLabels(), ...this.columnLabels(isSlanted), ...this.marks(), this.frame);
	}

	/** @param {CanvasRenderingContext2D} context */
	paintCells(context) {
		const { numRows, numColumns, scale } = this;
		const image = new ImageData(numColumns, numRows);
		this.each((row, column) => {
			const value = this.options.value(row, column);
			if (!Number.isFinite(value)) return;
			const colour = colourAt(scale, value);
			image.data.set(scale.table.subarray(colour, colour + 4), 4 * (row * numColumns + column));
		});
		const small = element("canvas", { width: numColumns, height: numRows });
		small.getContext("2d")?.putImageData(image, 0, 0);
		context.imageSmoothingEnabled = false;
		context.drawImage(small, 0, 0, context.canvas.width, context.canvas.height);
	}

	/** @param {CanvasRenderingContext2D} context */
	paintGrid(context) {
		const { width, height } = context.canvas;
		context.fillStyle = styleColour("--card");
		for (let row = 1; row < this.numRows; row++) context.fillRect(0, Math.round((row / this.numRows) * height), width, 1);
		for (let column = 1; column < this.numColumns; column++) context.fillRect(Math.round((column / this.numColumns) * width), 0, 1, height);
	}

	/** Hidden cells are hatched, so that they differ from small values by more than colour. @param {CanvasRenderingContext2D} context @param {NonNullable<HeatmapOptions["hidden"]>} hidden */
	paintHidden(context, hidden) {
		const [width, height] = [context.canvas.width / this.numColumns, context.canvas.height / this.numRows];
		context.strokeStyle = styleColour("--hatch");
		context.fillStyle = styleColour("--card");
		this.each((row, column) => {
			if (!hidden(row, column)) return;
			context.save();
			context.beginPath();
			context.rect(column * width, row * height, width, height);
			context.clip();
			context.fill();
			context.beginPath();
			for (let shift = -height; shift < width; shift += 6) {
				context.moveTo(column * width + shift, (row + 1) * height);
				context.lineTo(column * width + shift + height, row * height);
			}
			context.stroke();
			context.restore();
		});
	}

	/** @param {CanvasRenderingContext2D} context */
	paintNumbers(context) {
		const [width, height] = [context.canvas.width / this.numColumns, context.canvas.height / this.numRows];
		const family = getComputedStyle(document.documentElement).getPropertyValue("--digits");
		const soft = styleColour("--soft");
		context.font = `${11 * (devicePixelRatio || 1)}px ${family}`;
		context.textAlign = "center";
		context.textBaseline = "middle";
		this.each((row, column) => {
			const value = this.options.value(row, column);
			const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
			const text = Number.isFinite(value) ? value.toFixed(digits).replace("-", "−") : "−∞";
			context.fillStyle = this.options.hidden?.(row, column) ? soft : inkOn(this.scale, value);
			context.fillText(text, (column + 0.5) * width, (row + 0.5) * height);
		});
	}

	rowLabels() {
		const { top, left, height, options } = this;
		const every = Math.ceil(10 / height);
		return options.rows.map((label, row) => {
			const kind = `label ${row === options.markedRow ? "marked" : ""} ${height < 14 ? "tight" : ""}`;
			const y = top + (row + 0.5) * height + 4;
			return caption(kind, left - 6, y, row % every ? "" : shortened(label, 10), "end");
		});
	}

	/** @param {boolean} isSlanted */
	columnLabels(isSlanted) {
		const { labels, cell, left, numColumns } = this;
		const y = this.top - 6;
		// Features are numbered at every power of two that leaves room.
		const every = labels ? Math.ceil(11 / cell) : 2 ** Math.max(0, Math.ceil(Math.log2(60 / cell)));
		const shown = range(Math.ceil(numColumns / every));
		return shown.map((i) => {
			const column = i * every;
			const x = left + (column + 0.5) * cell;
			if (!labels) return caption("axis", x, y, column, column ? "middle" : "start");
			const turn = isSlanted ? `rotate(-50 ${x} ${y})` : null;
			return caption("label", x, y, shortened(labels[column] ?? "", 9), isSlanted ? "start" : "middle", { transform: turn });
		});
	}

	marks() {
		const { left, top, cell, height, numColumns, numRows } = this;
		const { markedRow, markedColumns } = this.options;
		const parts = [];
		if (markedRow !== undefined)
			parts.push(drawing("rect", { class: "marked-row", x: left, y: top + markedRow * height, width: cell * numColumns, height }));
		if (markedColumns) {
			const [first, end] = markedColumns;
			parts.push(
				drawing("rect", { class: "marked-columns", x: left + first * cell, y: top, width: (end - first) * cell, height: height * numRows }),
			);
		}
		return parts;
	}

	/** @param {number} row @param {number} column */
	placeFrame(row, column) {
		const width = Math.max(this.cell, 4);
		const x = this.left + (column + 0.5) * this.cell - width / 2;
		filled(this.frame, { x, y: this.top + row * this.height, width, height: this.height });
	}

	/** @param {MouseEvent} event @returns {[number, number] | null} the cell under the pointer */
	cellUnder(event) {
		const box = this.canvas.getBoundingClientRect();
		const column = Math.floor((event.clientX - box.left) / this.cell);
		const row = Math.floor((event.clientY - box.top) / this.height);
		return row >= 0 && row < this.numRows && column >= 0 && column < this.numColumns ? [row, column] : null;
	}
}

/** @param {string} text @param {number} most */
function shortened(text, most) {
	return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
