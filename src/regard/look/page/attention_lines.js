/** Attention as lines between words, while the second sentence is being written. */

import { attentionChoice } from "./attention_panel.js";
import { headStyle } from "./colours.js";
import { cell, choice, div, drawing, drawToWidth, element, legend, p, section, span, tableRow, twin } from "./dom.js";
import { arrange, labelsOf, paintLines } from "./line_drawing.js";
import { count, joined, show, tokenLabels } from "./numbers.js";
import { lead } from "./parts.js";
import { attentions, parsePath, sidesOf, titleOf, writtenWords } from "./structure.js";
import { byWords, range } from "./tensor.js";

const HEADS = { one: "this head", layer: "all heads", all: "all layers" };
const UNITS = { tokens: "tokens", words: "words" };

/** Whose words stand on the two sides, in the unit the reader chose. @param {App} app @param {SubLayer} part @returns {LineSides} */
function sidesInUnit(app, part) {
	const { doc, state } = app;
	const { rows, columns } = sidesOf(doc, part);
	const isWords = state.unit === "words";
	/** @param {Side} side */
	const spans = (side) => (isWords ? side.words : side.token_strings.map((_, i) => [i, i]));
	/** @param {Side} side */
	const labels = (side) => (isWords ? joined(side.token_strings, side.words) : tokenLabels(side));
	const isWriting = rows === doc.target;
	// What a word draws on while it is written, not while it is read to write the next.
	const areWritten = isWords && part.kind === "cross_attention" && doc.output.length > 0;
	const asking = areWritten ? writtenWords(doc) : { labels: labels(rows), spans: spans(rows) };
	const position = isWriting ? state.step : state.token;
	return {
		rowSpans: asking.spans,
		columnSpans: spans(columns),
		queries: asking.labels,
		keys: labels(columns),
		focus: asking.spans.findIndex(([first = 0, last = 0]) => first <= position && position <= last),
		isWriting,
		areWritten,
	};
}

/** The attentions whose lines are wanted: this one, or this kind in all layers. @param {App} app @param {SubLayer} part @returns {SubLayer[]} */
function wanted(app, part) {
	if (app.state.heads !== "all") return [part];
	return attentions(app.doc).filter((each) => each.stack === part.stack && each.kind === part.kind);
}

/** @param {App} app @param {SubLayer} part @param {LineSides} sides @returns {Promise<Link[]>} every line, weak ones too */
async function collect(app, part, sides) {
	/** @type {Link[]} */
	const lines = [];
	for (const each of wanted(app, part)) {
		const weights = await app.tensor(`${each.path}.weights`);
		const heads = app.state.heads === "one" ? [app.state.head] : range(weights.length(0));
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

/** Words and the lines between them, drawn to the width there is. @param {App} app @param {LineSides} sides @param {Link[]} lines @param {boolean} byHead */
export function linesBetween(app, sides, lines, byHead) {
	const canvas = element("canvas", { "aria-hidden": "true" });
	const overlay = drawing("svg", { class: "overlay-lines" });
	const stage = div("line-stage", canvas, overlay);
	drawToWidth(stage, (width) => {
		const places = arrange(sides.queries, sides.keys, width);
		const ratio = devicePixelRatio || 1;
		canvas.width = width * ratio;
		canvas.height = places.height * ratio;
		stage.style.height = `${places.height}px`;
		const context = canvas.getContext("2d");
		if (!context) return;
		context.scale(ratio, ratio);
		paintLines(context, lines, places, sides.focus, byHead);
		overlay.replaceChildren(...labelsOf(app, sides, places, lines));
	});
	return stage;
}

/** @param {LineSides} sides @param {Link[]} lines */
function tableOfLines(sides, lines) {
	const sorted = lines.filter((line) => line.row === sides.focus).sort((a, b) => b.weight - a.weight);
	return twin(`the lines of “${sides.queries[sides.focus] ?? ""}” as a table`, ["attends to", "layer", "head", "weight"], () =>
		sorted.map((line) => tableRow({}, sides.keys[line.column], (parsePath(line.path)?.layer ?? 0) + 1, line.head + 1, cell(line.weight))),
	);
}

/** @type {Panel} */
export const attentionLinesPanel = {
	id: "attention-lines",
	title: "Attention lines",
	keys: ["attention", "head", "step", "token", "unit", "heads", "threshold"],
	fits: (app) => attentions(app.doc).some((part) => app.has(`${part.path}.weights`)),
	async draw(app) {
		const part = parsePath(app.state.attention);
		if (!part || !app.has(`${part.path}.weights`)) {
			const known = attentions(app.doc);
			const first = known.find((each) => each.kind === "cross_attention") ?? known[0];
			if (first) app.go({ attention: first.path });
			return [];
		}
		const { state } = app;
		const sides = sidesInUnit(app, part);
		const lines = await collect(app, part, sides);
		const strong = lines.filter((line) => line.weight >= state.threshold);
		const numHeads = app.doc.tensors[`${part.path}.weights`]?.shape[0] ?? 1;
		const slider = element("input", {
			type: "range",
			id: "threshold",
			min: 0,
			max: 0.9,
			step: 0.01,
			value: state.threshold,
			"aria-label": "smallest weight shown",
			onchange: (event) => app.go({ threshold: Number(event.currentTarget.value) }),
		});
		const about =
			part.kind === "cross_attention"
				? "Queries come from what is written so far, keys from the source: each line is the weight of a source token while the next token is written."
				: part.stack === "encoder"
					? "Every token attends to all tokens of its own sentence, itself included."
					: "A token attends to itself and to what came before; the rest is hidden by the mask.";
		const unitNote =
			state.unit === "words"
				? `Words: the weight a word receives is the sum over its tokens, the weight it gives is the mean over them.${sides.areWritten ? " The words below are those being written." : ""}`
				: "Tokens: weights exactly as the model computed them.";
		return [
			lead(`${titleOf(part)}. ${about}`),
			attentionChoice(app, state.heads),
			div(
				"choices",
				choice("show", Object.entries(HEADS), state.heads, (heads) => app.go({ heads })),
				choice("unit", Object.entries(UNITS), state.unit, (unit) => app.go({ unit })),
				element("label", { class: "choice" }, span("choice-label", `weights from ${show(state.threshold, 2)}`), slider),
				element("span", { class: "note", id: "line-count" }, `${count(strong.length)} of ${count(lines.length)} lines`),
			),
			section(
				"card",
				linesBetween(app, sides, strong, state.heads !== "one"),
				state.heads !== "one" && legend(range(numHeads).map((head) => [headStyle(head), `head ${head + 1}`])),
				p("note", unitNote),
				tableOfLines(sides, lines),
			),
		];
	},
};
