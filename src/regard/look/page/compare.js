/** Two models on one sentence. */

import { attentions, sidesOf } from "./anatomy.js";
import { choice, element } from "./dom.js";
import { matrix } from "./matrix.js";
import { count, joined, percent, readable, show } from "./numbers.js";
import { byWords } from "./tensor.js";
import { lead } from "./parts.js";

/**
 * The mean of a model's last cross-attention over its heads, between words: rows written, columns read.
 * @param {App} app
 * @param {RunDocument} doc
 */
async function alignment(app, doc) {
	const part =
		attentions(doc)
			.filter((each) => each.kind === "cross_attention")
			.at(-1) ?? attentions(doc).at(-1);
	if (!part || !doc.tensors[`${part.path}.weights`]) return null;
	const weights = await app.data.tensor(`${part.path}.weights`, doc.run);
	const { rows, columns } = sidesOf(doc, part);
	const numHeads = weights.length(0);
	const mean = byWords(
		(row, column) => {
			let sum = 0;
			for (let head = 0; head < numHeads; head++) sum += weights.at([head, row, column]);
			return sum / numHeads;
		},
		rows.words,
		columns.words,
	);
	return { mean, rows: joined(rows.pieces, rows.words), columns: joined(columns.pieces, columns.words), path: part.path, numHeads };
}

/** @param {App} app @param {RunDocument} doc */
async function oneModel(app, doc) {
	const found = await alignment(app, doc);
	let sum = 0;
	for (const each of doc.output) sum += Math.log(each.probability);
	return element(
		"section",
		{ class: "card", "data-run": doc.run },
		element("h3", {}, doc.model.name),
		element("p", {}, `${doc.model.architecture}, ${count(doc.model.num_parameters)} weights`),
		element("p", { class: "versus" }, element("b", {}, doc.target?.text ?? "")),
		element("p", { class: "note" }, "log-probability of its sentence: ", element("b", { "data-value": sum }, show(sum, 3))),
		element(
			"div",
			{ class: "strip" },
			...doc.output.map((each, i) =>
				element(
					"span",
					{ class: "chip" },
					element("b", {}, readable(each.piece)),
					element("small", { "data-index": i, "data-value": each.probability }, percent(each.probability)),
				),
			),
		),
		found
			? matrix({
					title: "who reads what",
					note: `mean of ${found.numHeads} ${found.numHeads === 1 ? "head" : "heads"}, ${found.path}`,
					rows: found.rows,
					columns: found.columns,
					value: (row, column) => found.mean[row]?.[column] ?? NaN,
					scale: "share",
				})
			: null,
	);
}

/** @type {Panel} */
export const comparePanel = {
	id: "compare",
	title: "Side by side",
	keys: [],
	fits: (app) => Boolean(app.data.document(0).compare),
	async draw(app) {
		const first = app.data.document(0);
		const second = first.compare;
		if (!second) return [];
		const [left, right] = await Promise.all([alignment(app, first), alignment(app, second)]);
		const agree =
			left && right && left.mean.length === right.mean.length
				? left.mean.filter((cells, row) => strongest(cells) === strongest(right.mean[row] ?? [])).length
				: null;
		return [
			lead(
				"One sentence, two models. Both tables are averages over heads, from pieces put together to words, so that models cut differently can be compared.",
			),
			choice(
				"every panel shows",
				[
					{ value: String(first.run), text: first.model.name },
					{ value: String(second.run), text: `${second.model.name} (second)` },
				],
				String(app.state.run),
				(value) => app.go({ run: Number(value), place: null }),
			),
			element("div", { class: "columns" }, await oneModel(app, first), await oneModel(app, second)),
			...(agree === null
				? []
				: [
						element(
							"p",
							{ class: "note" },
							`The two look hardest at the same source word for ${agree} of ${left?.mean.length} written words.`,
						),
					]),
		];
	},
};

/** @param {number[]} cells @returns {number} where the largest stands */
function strongest(cells) {
	return cells.reduce((best, value, i) => (value > (cells[best] ?? -Infinity) ? i : best), 0);
}
