/** What an encoder-only model is for: a vector of the sentence, and the passages near it. */

import { button, div, element, p, table, tableRow } from "./dom.js";
import { matrix } from "./matrix.js";
import { tokenLabels } from "./numbers.js";
import { asking, band, barCells, card, codeLink, lead } from "./parts.js";
import { range, total } from "./tensor.js";

const EXAMPLES = ["A cat is asleep on the roof.", "Le chat dort sur le toit.", "The dog barks in the garden.", "Les prix ont augmenté en septembre."];

/** The first of the rows or their mean, scaled to length 1. @param {Tensor} memory @param {Doc} doc */
export function sentenceVector(memory, { model }) {
	const rows = range(model.pooling === "cls" ? 1 : memory.length(0));
	const mean = range(memory.length(1)).map((feature) => total(rows.map((row) => memory.at([row, feature]))) / rows.length);
	const length = Math.hypot(...mean);
	return mean.map((value) => value / (length || 1));
}

/** @param {ArrayLike<number>} left @param {ArrayLike<number>} right */
export function cosine(left, right) {
	/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
	const dot = (a, b) => total(Array.from(a, (value, i) => value * (b[i] ?? 0)));
	return dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right) || 1);
}

/** @param {App} app */
function nearestPassages(app) {
	const answer = element("div", { id: "nearest", "aria-live": "polite" });
	const input = element("textarea", { id: "passages", rows: 5, "aria-label": "passages, one a line" }, EXAMPLES.join("\n"));
	const asks = asking(answer);
	const row = (/** @type {{text: string, cosine: number}} */ each) => tableRow({}, each.text, ...barCells(each.cosine, each.cosine));
	const ask = () => asks(() => app.data.nearest(app.state.run, input.value), (found) => [table(["passage", "", "cosine"], found.map(row), "near")]);
	if (app.data.isLive) ask();
	return card(
		["Nearest passages", codeLink(app, "memory")],
		p("", "The model reads each passage, and the cosine of the angle between the two vectors says how alike they are. Write your own, one a line."),
		input,
		div("inline-form", button({ id: "do-nearest", onclick: ask }, "compare")),
		answer,
	);
}

/** @type {Panel} */
export const readingPanel = {
	id: "vector",
	title: "Sentence vector",
	keys: ["token"],
	fits: (app) => app.isReader,
	async draw(app) {
		const memory = await app.tensor("memory");
		const vector = sentenceVector(memory, app.doc);
		const pooled = app.doc.model.pooling === "cls" ? "first" : "mean";
		/** @param {ArrayLike<number>} row */
		const near = (row) => barCells(cosine(row, vector), cosine(row, vector));
		const rows = tokenLabels(app.doc.source).map((label, i) => tableRow({ class: i === app.state.token ? "here" : "" }, label, ...near(memory.row(i))));
		return [
			lead(`The model reads the sentence and gives each token a vector in context. Their ${pooled}, scaled to length 1, is the vector of the sentence. Sentences that mean the same have vectors that point the same way.`),
			card(
				["From token vectors to one vector", codeLink(app, "memory")],
				p("", "One row for each token, from the last layer; below, the vector of the sentence."),
				await band(app, "memory"),
				matrix({
					title: "sentence vector",
					note: `1 × ${vector.length}`,
					rows: [pooled],
					columns: vector.length,
					value: (_, column) => vector[column] ?? NaN,
					scale: "signed",
					limit: Math.max(...vector.map(Math.abs)),
					rowHeight: 18,
				}),
			),
			div(
				"columns",
				nearestPassages(app),
				card("How near each token is", p("", "The cosine of a token's vector and the sentence's."), table(["token", "", "cosine"], rows, "near")),
			),
		];
	},
};
