/** Attention as lines between words, while the second sentence is being written. */

import { attentions, parsePath, sidesOf, titleOf } from "./anatomy.js";
import { attentionChoice } from "./attention_panel.js";
import { headStyle, styleColour } from "./colours.js";
import { choice, drawing, drawToWidth, element, legend, marks, pressable, table, tableRow } from "./dom.js";
import { count, joined, pieceLabels, readable, show } from "./numbers.js";
import { byWords } from "./tensor.js";
import { lead } from "./parts.js";

const FONT = '15px Georgia, "Noto Serif", "DejaVu Serif", serif';
const GAP = 16;

/** Whose words stand on the two sides, in the unit the reader chose. @param {App} app @param {SubLayer} part */
function sidesInUnit(app, part) {
	const { rows, columns } = sidesOf(app.doc, part);
	const isWords = app.state.unit === "words";
	/** @param {Side} side */
	const spans = (side) => (isWords ? side.words : side.pieces.map((_, i) => [i, i]));
	/** @param {Side} side */
	const labels = (side) => (isWords ? joined(side.pieces, side.words) : pieceLabels(side));
	const position = rows === app.doc.target ? app.state.step : app.state.token;
	const rowSpans = spans(rows);
	return {
		rowSpans,
		columnSpans: spans(columns),
		queries: labels(rows),
		keys: labels(columns),
		focus: rowSpans.findIndex(([first = 0, last = 0]) => first <= position && position <= last),
		isWriting: rows === app.doc.target,
	};
}

/**
 * The attentions whose lines are wanted: this one, or this kind in all layers.
 * @param {App} app
 * @param {SubLayer} part
 * @returns {SubLayer[]}
 */
function wanted(app, part) {
	if (app.state.heads !== "all") return [part];
	return attentions(app.doc).filter((each) => each.stack === part.stack && each.kind === part.kind);
}

/** @param {App} app @param {SubLayer} part @param {ReturnType<typeof sidesInUnit>} sides @returns {Promise<Link[]>} every line, weak ones too */
async function collect(app, part, sides) {
	/** @type {Link[]} */
	const lines = [];
	for (const each of wanted(app, part)) {
		const weights = await app.tensor(`${each.path}.weights`);
		const heads = app.state.heads === "one" ? [app.state.head] : Array.from({ length: weights.length(0) }, (_, head) => head);
		for (const head of heads) {
			const table = byWords((row, column) => weights.at([head, row, column]), sides.rowSpans, sides.columnSpans);
			table.forEach((cells, row) => {
				if (sides.isWriting && row > sides.focus) return;
				cells.forEach((weight, column) => lines.push({ row, column, weight, head, path: each.path }));
			});
		}
	}
	return lines;
}

/**
 * Side by side in two rows where they fit, in two columns where they do not.
 * @param {string[]} queries
 * @param {string[]} keys
 * @param {number} width
 * @returns {Arrangement}
 */
function arrange(queries, keys, width) {
	const context = element("canvas").getContext("2d");
	if (context) context.font = FONT;
	/** @param {string[]} labels */
	const widths = (labels) => labels.map((label) => Math.max(24, context?.measureText(label).width ?? 40) + GAP);
	/** @param {number[]} sizes */
	const sum = (sizes) => sizes.reduce((total, size) => total + size, 0);
	const [below, above] = [widths(queries), widths(keys)];
	const flat = Math.max(sum(below), sum(above)) <= width;
	if (!flat) {
		const step = 26;
		const height = Math.max(queries.length, keys.length) * step + 30;
		/** @param {string[]} labels @param {number} x */
		const column = (labels, x) => labels.map((_, i) => ({ x, y: 24 + i * step }));
		const left = Math.min(Math.max(...below), width * 0.33);
		const right = width - Math.min(Math.max(...above), width * 0.33);
		return { queries: column(queries, left), keys: column(keys, right), height, flat };
	}
	const height = 330;
	/** @param {number[]} sizes @param {number} y */
	const row = (sizes, y) => {
		const spare = Math.min(28, (width - sum(sizes)) / sizes.length);
		let x = (width - sum(sizes) - spare * sizes.length) / 2;
		return sizes.map((size) => {
			x += size + spare;
			return { x: x - (size + spare) / 2, y };
		});
	};
	return { queries: row(below, height - 46), keys: row(above, 34), height, flat };
}

/** @param {CanvasRenderingContext2D} context @param {Link[]} lines @param {Arrangement} places @param {number} focus @param {boolean} byHead */
function paintLines(context, lines, places, focus, byHead) {
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

/**
 * Words on both sides, and on the strongest lines of the word in view their weights.
 * @param {App} app
 * @param {ReturnType<typeof sidesInUnit>} sides
 * @param {Arrangement} places
 * @param {Link[]} lines
 */
function labelsOf(app, sides, places, lines) {
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
			drawing("text", { x: at.x, y: at.y + (flat ? 4 : 5), "text-anchor": flat ? "middle" : "end" }, label),
		);
	});
	const written = app.doc.output[app.state.step];
	const here = places.queries[sides.focus];
	if (sides.isWriting && written && here && flat) {
		queries.push(
			drawing(
				"g",
				{},
				drawing("text", { class: "writes", x: here.x, y: here.y + 28, "text-anchor": "middle" }, `writes ${readable(written.piece)}`),
			),
		);
	}
	const keys = sides.keys.map((label, column) => {
		const at = places.keys[column] ?? { x: 0, y: 0 };
		const line = seen.get(column);
		const isHidden = !sides.isWriting ? false : sides.queries === sides.keys && column > sides.focus;
		const weight = line
			? drawing(
					"text",
					{
						class: "line-weight",
						x: flat ? at.x : at.x + 4,
						y: flat ? at.y - 20 : at.y + 18,
						"text-anchor": flat ? "middle" : "start",
						...marks(
							line.weight,
							app.state.unit === "pieces" ? { name: `${line.path}.weights`, index: [line.head, line.row, line.column] } : null,
						),
					},
					show(line.weight, 2),
				)
			: null;
		return drawing(
			"g",
			{ class: `end-word key ${line ? "here" : ""} ${isHidden ? "future" : ""}` },
			drawing("text", { x: at.x, y: at.y + (flat ? 0 : 5), "text-anchor": flat ? "middle" : "start" }, label),
			weight,
		);
	});
	return [...queries, ...keys];
}

/** @param {App} app @param {ReturnType<typeof sidesInUnit>} sides @param {Link[]} lines */
function tableOfLines(app, sides, lines) {
	const sorted = lines.filter((line) => line.row === sides.focus).sort((a, b) => b.weight - a.weight);
	return element(
		"details",
		{},
		element("summary", {}, `the lines of “${sides.queries[sides.focus] ?? ""}” as a table`),
		table(
			["looks at", "layer", "head", "weight"],
			sorted.map((line) =>
				tableRow(
					{},
					sides.keys[line.column],
					element("td", {}, (parsePath(line.path)?.layer ?? 0) + 1),
					element("td", {}, line.head + 1),
					element("td", marks(line.weight), show(line.weight)),
				),
			),
		),
	);
}

/** @type {Panel} */
export const linesPanel = {
	id: "lines",
	title: "Lines",
	keys: ["attention", "head", "step", "token", "unit", "heads", "threshold"],
	fits: (app) => attentions(app.doc).some((part) => app.has(`${part.path}.weights`)),
	async draw(app) {
		const part = parsePath(app.state.attention);
		if (!part || part.kind === "feed_forward") {
			const known = attentions(app.doc);
			const first = known.find((each) => each.kind === "cross_attention") ?? known[0];
			if (first) app.go({ attention: first.path });
			return [];
		}
		const { state } = app;
		const sides = sidesInUnit(app, part);
		const lines = await collect(app, part, sides);
		const strong = lines.filter((line) => line.weight >= state.threshold);
		const canvas = element("canvas", { "aria-hidden": "true" });
		const overlay = drawing("svg", { class: "overlay-lines" });
		const stage = element("div", { class: "line-stage" }, canvas, overlay);
		drawToWidth(stage, (width) => {
			const places = arrange(sides.queries, sides.keys, width);
			const ratio = window.devicePixelRatio || 1;
			canvas.width = width * ratio;
			canvas.height = places.height * ratio;
			stage.style.height = `${places.height}px`;
			const context = canvas.getContext("2d");
			if (!context) return;
			context.scale(ratio, ratio);
			paintLines(context, strong, places, sides.focus, state.heads !== "one");
			overlay.replaceChildren(...labelsOf(app, sides, places, strong));
		});
		const numHeads = app.doc.tensors[`${part.path}.weights`]?.shape[0] ?? 1;
		const slider = element("input", {
			type: "range",
			id: "threshold",
			min: 0,
			max: 0.9,
			step: 0.01,
			value: state.threshold,
			"aria-label": "weakest line shown",
			onchange: (/** @type {Event} */ event) => app.go({ threshold: Number(/** @type {HTMLInputElement} */ (event.currentTarget).value) }),
		});
		const about =
			part.kind === "cross_attention"
				? "What has been written so far asks, the source answers: each line is how much the next piece draws on a source word."
				: part.stack === "encoder"
					? "Every word asks all words of its own sentence, itself among them."
					: "A word asks itself and what came before; the rest is future.";
		const unitNote =
			state.unit === "words"
				? "Words: what a word receives is summed over its pieces, what it gives is averaged over them."
				: "Pieces: weights exactly as the model computed them.";
		return [
			lead(`${titleOf(part)}. ${about}`),
			attentionChoice(app),
			element(
				"div",
				{ class: "choices" },
				choice(
					"show",
					[
						{ value: "one", text: "this head" },
						{ value: "layer", text: "all heads" },
						{ value: "all", text: "all layers" },
					],
					state.heads,
					(heads) => app.go({ heads }),
				),
				choice(
					"unit",
					[
						{ value: "pieces", text: "pieces" },
						{ value: "words", text: "words" },
					],
					state.unit,
					(unit) => app.go({ unit }),
				),
				element(
					"label",
					{ class: "choice" },
					element("span", { class: "choice-label" }, `weights from ${show(state.threshold, 2)}`),
					slider,
				),
				element("span", { class: "note", id: "line-count" }, `${count(strong.length)} of ${count(lines.length)} lines`),
			),
			element(
				"section",
				{ class: "card" },
				stage,
				state.heads === "one" ? "" : legend(Array.from({ length: numHeads }, (_, head) => [headStyle(head).colour, `head ${head + 1}`])),
				element("p", { class: "note" }, unitNote),
				tableOfLines(app, sides, lines),
			),
		].filter((node) => node instanceof HTMLElement);
	},
};
