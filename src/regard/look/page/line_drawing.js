/** The picture of attention as lines between words. */

import { headStyle, styleColour } from "./colours.js";
import { caption, drawing, element, marks, pressable } from "./dom.js";
import { readable, show } from "./numbers.js";
import { total } from "./tensor.js";

const FONT = '15px Georgia, "Noto Serif", "DejaVu Serif", serif';
const GAP = 16;
const WEIGHT_SPACE = 38;

/** Side by side in two rows where they fit, in two columns where they do not. @param {string[]} queries @param {string[]} keys @param {number} width @returns {Arrangement} */
export function arrange(queries, keys, width) {
	const context = element("canvas").getContext("2d");
	if (context) context.font = FONT;
	/** @param {string[]} labels */
	const widths = (labels) => labels.map((label) => Math.max(24, context?.measureText(label).width ?? 40) + GAP);
	const [below, above] = [widths(queries), widths(keys)];
	const flat = Math.max(total(below), total(above)) <= width;
	if (!flat) {
		const step = 26;
		const height = Math.max(queries.length, keys.length) * step + 30;
		/** @param {string[]} labels @param {number} x */
		const column = (labels, x) => labels.map((_, i) => ({ x, y: 24 + i * step }));
		const left = Math.min(Math.max(...below), width * 0.33);
		const right = width - WEIGHT_SPACE - Math.min(Math.max(...above), width * 0.3);
		return { queries: column(queries, left), keys: column(keys, right), width, height, flat };
	}
	const height = 330;
	/** @param {number[]} sizes @param {number} y */
	const row = (sizes, y) => {
		const spare = Math.min(28, (width - total(sizes)) / sizes.length);
		let x = (width - total(sizes) - spare * sizes.length) / 2;
		return sizes.map((size) => {
			x += size + spare;
			return { x: x - (size + spare) / 2, y };
		});
	};
	return { queries: row(below, height - 46), keys: row(above, 34), width, height, flat };
}

/** @param {CanvasRenderingContext2D} context @param {Link[]} lines @param {Arrangement} places @param {number} focus @param {boolean} byHead */
export function paintLines(context, lines, places, focus, byHead) {
	const one = styleColour("--accent");
	const last = Math.max(...lines.map((line) => line.head), 0);
	for (const isFocused of [false, true]) {
		for (const line of lines) {
			if ((line.row === focus) !== isFocused) continue;
			const [from, to] = [places.queries[line.row], places.keys[line.column]];
			if (!from || !to) continue;
			const { colour, dash } = byHead ? headStyle(line.head) : { colour: one, dash: [] };
			context.strokeStyle = colour;
			context.setLineDash(dash);
			context.globalAlpha = (isFocused ? 0.9 : 0.14) * Math.sqrt(line.weight);
			context.lineWidth = 1 + line.weight * (isFocused ? (byHead ? 2.5 : 7) : byHead ? 1 : 2);
			// Heads side by side, so that none hides another.
			const aside = byHead ? (line.head - last / 2) * Math.min(3, 16 / (last + 1)) : 0;
			context.beginPath();
			if (places.flat) {
				const [start, end] = [from.y - 16, to.y + 10];
				const middle = (start + end) / 2;
				context.moveTo(from.x + aside, start);
				context.bezierCurveTo(from.x + aside, middle, to.x + aside, middle, to.x + aside, end);
			} else {
				const middle = (from.x + to.x) / 2;
				context.moveTo(from.x + 5, from.y + aside);
				context.bezierCurveTo(middle, from.y + aside, middle, to.y + aside, to.x - 5, to.y + aside);
			}
			context.stroke();
		}
	}
	context.globalAlpha = 1;
}

/** Words on both sides, and on the strongest lines of the word in view their weights. @param {App} app @param {LineSides} sides @param {Arrangement} places @param {Link[]} lines */
export function labelsOf(app, sides, places, lines) {
	const { flat } = places;
	const strongest = lines.filter((line) => line.row === sides.focus).sort((a, b) => b.weight - a.weight);
	/** @type {Map<number, Link>} */
	const seen = new Map();
	for (const line of strongest) if (seen.size < 4 && !seen.has(line.column)) seen.set(line.column, line);
	/** @param {number} row */
	const choose = (row) => {
		const first = sides.rowSpans[row]?.[0] ?? 0;
		app.go(sides.isWriting ? { step: first } : { token: first });
	};
	const queries = sides.queries.map((label, row) => {
		const at = places.queries[row] ?? { x: 0, y: 0 };
		const isFuture = sides.isWriting && row > sides.focus;
		return drawing(
			"g",
			{
				class: `end-word query ${row === sides.focus ? "here" : ""} ${isFuture ? "future" : ""}`,
				id: `query-${row}`,
				"aria-label": `query ${label}`,
				...pressable(() => choose(row)),
			},
			caption("", at.x, at.y + (flat ? 4 : 5), label, flat ? "middle" : "end"),
		);
	});
	const written = app.doc.output[app.state.step];
	const here = places.queries[sides.focus];
	if (sides.isWriting && !sides.areWritten && written && here && flat) {
		queries.push(drawing("g", {}, caption("writes", here.x, here.y + 28, `writes ${readable(written.token_string)}`)));
	}
	const keys = sides.keys.map((label, column) => {
		const at = places.keys[column] ?? { x: 0, y: 0 };
		const line = seen.get(column);
		const isHidden = sides.isWriting && sides.queries === sides.keys && column > sides.focus;
		const place = line && !sides.areWritten && app.state.unit === "tokens" ? { name: `${line.path}.weights`, index: [line.head, line.row, line.column] } : null;
		const [x, y] = flat ? [at.x, at.y - 20] : [places.width - 2, at.y + 4];
		const weight = line && caption("line-weight", x, y, show(line.weight, 2), flat ? "middle" : "end", marks(line.weight, place));
		return drawing(
			"g",
			{ class: `end-word key ${line ? "here" : ""} ${isHidden ? "future" : ""}` },
			caption("", at.x, at.y + (flat ? 0 : 5), label, flat ? "middle" : "start"),
			weight,
		);
	});
	return [...queries, ...keys];
}
