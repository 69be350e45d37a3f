/** Two models on one sentence. */

import { differences } from "./differences.js";
import { b, cell, choice, div, element, p, span, table, tableRow } from "./dom.js";
import { picture, seenAs } from "./map.js";
import { matrix } from "./matrix.js";
import { count, joined, percent, readable, show } from "./numbers.js";
import { card, lead } from "./parts.js";
import { attentions, sidesOf, writtenWords } from "./structure.js";
import { byWords, range, total } from "./tensor.js";

/** What each written word, or each word read, attends to in a model: the mean of its last attention to the source over the heads, between words. @param {App} app @param {Doc} doc */
export async function alignment(app, doc) {
	const known = attentions(doc).filter((each) => doc.tensors[`${each.path}.weights`]);
	const part = known.filter((each) => each.kind === "cross_attention").at(-1) ?? known.at(-1);
	if (!part) return null;
	const weights = await app.data.tensor(`${part.path}.weights`, doc.run);
	const { rows, columns } = sidesOf(doc, part);
	const { labels, spans } = rows === doc.target ? writtenWords(doc) : { labels: joined(rows.token_strings, rows.words), spans: rows.words };
	const numHeads = weights.length(0);
	/** @param {number} row @param {number} column */
	const overHeads = (row, column) => total(range(numHeads).map((head) => weights.at([head, row, column]))) / numHeads;
	const mean = byWords(overHeads, spans, columns.words);
	return { mean, spans, rows: labels, columns: joined(columns.token_strings, columns.words), part, numHeads };
}

/** Whose weights they are, by name; the first that fits. */
const PARTS = /** @type {[string, RegExp][]} */ ([["norms", /norm\./], ["attention", /attention\./], ["feed-forward", /feed_forward\./], ["tables", /./]]);

/** The weights of a model by part; a table with two names counts once. @param {Doc} doc */
function weightsByPart({ parameters, model: { config } }) {
	const sums = new Map(PARTS.map(([part]) => [part, 0]));
	for (const [name, shape] of Object.entries(parameters)) {
		const isAgain = name === "output.weight" ? config.tied !== "none" : name === "target.embedding.weight" && config.tied === "all" && "source.embedding.weight" in parameters;
		const part = PARTS.find(([, names]) => names.test(name))?.[0] ?? "";
		if (!isAgain) sums.set(part, (sums.get(part) ?? 0) + shape.reduce((product, each) => product * each, 1));
	}
	return sums;
}

/** What differs between two models: weights by part, and settings. @param {Doc[]} docs */
function inATable(docs) {
	const sums = docs.map(weightsByPart);
	const settings = docs.map(({ model }) => new Map(Object.entries(model.config)));
	const keys = [...(settings[0]?.keys() ?? [])].filter((key) => new Set(settings.map((each) => String(each.get(key)))).size > 1);
	return table(
		["", ...docs.map((doc) => doc.model.name)],
		[
			...PARTS.map(([part]) => tableRow({}, part, ...sums.map((each) => cell(each.get(part) ?? 0, null, count(each.get(part) ?? 0))))),
			tableRow({}, "all weights", ...docs.map(({ model }) => cell(model.num_parameters, null, count(model.num_parameters)))),
			...keys.filter((key) => key !== "rotary_frequencies").map((key) => tableRow({}, key, ...settings.map((each) => String(each.get(key) ?? "–")))),
		],
	);
}

/** @param {App} app @param {Doc} doc @param {Awaited<ReturnType<typeof alignment>>} found */
function oneModel(app, doc, found) {
	const sum = total(doc.output.map((each) => Math.log(each.probability)));
	return element(
		"section",
		{ class: "card", "data-run": doc.run },
		element("h3", {}, doc.model.name),
		p("", `${doc.model.architecture}, ${count(doc.model.num_parameters)} weights`),
		p("versus", b("", doc.target?.text ?? "")),
		picture(seenAs(app, { run: doc.run }), `run-${doc.run}-`),
		element("ul", { class: "note" }, ...differences(doc.model.config).map(([, text]) => element("li", {}, text))),
		p("note", "log-probability of its output: ", element("b", { "data-value": sum }, show(sum, 3))),
		div(
			"strip all",
			...doc.output.map((each, i) =>
				span(
					"chip",
					b("", readable(each.token_string)),
					element("small", { "data-index": i, "data-value": each.probability }, percent(each.probability)),
				),
			),
		),
		found &&
			matrix({
				title: "attention of each written word",
				note: `mean of ${found.numHeads} ${found.numHeads === 1 ? "head" : "heads"}, ${found.part.path}`,
				rows: found.rows,
				columns: found.columns,
				value: (row, column) => found.mean[row]?.[column] ?? NaN,
				scale: "share",
			}),
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
				"One sentence, two models. Rows are the words being written, columns the words of the source; both are joined from tokens, and the weights are averaged over heads, so that models with different tokenizers can be compared.",
			),
			div(
				"choices",
				choice(
					"every panel shows",
					[first, second].map((doc, i) => [doc.run, `${i ? "second" : "first"}: ${doc.model.name}`]),
					String(app.state.run),
					(value) => app.go({ run: Number(value), place: null }),
				),
			),
			div("columns", oneModel(app, first, left), oneModel(app, second, right)),
			card("What differs", inATable([first, second])),
			agree === null ? "" : p("note", `Both attend most to the same source word for ${agree} of ${left?.mean.length} written words.`),
		];
	},
};

/** Where the largest stands. @param {number[]} cells */
function strongest(cells) {
	return cells.indexOf(Math.max(...cells));
}
