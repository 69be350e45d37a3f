/** The whole computation, from tokens to the next token. */

import { linesBetween } from "./attention_lines.js";
import { alignment } from "./compare.js";
import { button, cell, element, p, section, span, tableRow, twin } from "./dom.js";
import { hasOutput } from "./map.js";
import { count, isSpecial, percent, readable, textOf, tokenLabels } from "./numbers.js";
import { band, card, codeLink, lead, probabilityBars } from "./parts.js";
import { isRecurrent, layerOutput, numLayers, stackOutput, titleOf } from "./structure.js";

/** weights below are not drawn */
const MIN_WEIGHT = 0.04;

/** @param {App} app @param {"encoder" | "decoder"} stack @returns {Stage[]} */
function stagesOf(app, stack) {
	const { doc } = app;
	const side = stack === "encoder" ? "source" : "target";
	/** @type {Stage[]} */
	const stages = [];
	/** @param {string} tensor @param {string} title @param {string} code @param {string} text @param {Partial<State>} [opens] */
	const add = (tensor, title, code, text, opens) => stages.push({ tensor, title, code, text, opens });
	const fetched = `Each token is replaced by its learned row of ${app.config.d_model} numbers, the same at every position.`;
	add(`${side}.embedding`, "Embedding", "embedding", fetched, { view: "embeddings", focus: side });
	const placed = "A vector for the position, the same for every token there.";
	add(`${side}.position`, "Position", "position", placed, { view: "positions", focus: side });
	add(`${side}.input`, "Embedding + position", "input", "The sum enters the first layer.");
	for (let layer = 0; layer < numLayers(doc, stack); layer++) {
		const text =
			stack === "encoder"
				? "Self-attention has mixed all tokens; the feed-forward network has transformed each by itself."
				: `Masked self-attention has read what is written so far${doc.source ? ", cross-attention the source" : ""}; the feed-forward network has transformed each token by itself.`;
		const opens = { view: "attention", attention: `${stack}.layers.${layer}.self_attention` };
		add(layerOutput(doc, stack, layer), `${stack} layer ${layer + 1}`, stack, text, opens);
	}
	if (stackOutput(doc, stack) === `${stack}.final_norm`)
		add(`${stack}.final_norm`, "Final norm", "norm", "The output of the last layer, normalised once more.");
	const reader = doc.target ? "What the decoder reads" : "The output of the model";
	if (stack === "encoder") add("memory", "Memory", "memory", `${reader}: one vector for each source token, in context.`);
	// Where no position is added, the sum is the embedding itself.
	return stages.filter((stage) => app.has(stage.tensor) && (app.has(`${side}.position`) || stage.code !== "input"));
}

/** @param {App} app @param {Stage} stage @param {number} number */
async function drawStage(app, { tensor, title, text, code, opens }, number) {
	const isSource = /^(source|encoder|memory)/.test(tensor);
	const side = isSource ? app.doc.source : app.doc.target;
	const rows = tokenLabels(side).slice(0, isSource ? undefined : app.state.step + 1);
	const open = opens && button({ class: "small", "aria-label": `open ${title}`, onclick: () => app.go({ focus: "", ...opens }) }, "open ▸");
	return element(
		"section",
		{ class: `stage ${isSource ? "encoder" : "decoder"}`, id: `part-${tensor}` },
		element("h3", {}, span("number", number), title, open, codeLink(app, code)),
		p("", text),
		await band(app, tensor, { title: tensor, rows }),
	);
}

/** @param {string} text */
const shortened = (text) => (text.length > 200 ? `${text.slice(0, 199)}…` : text);

/** What the model does with this text, in a sentence or two. @param {App} app */
function plainly(app) {
	const { source, target, output } = app.doc;
	const read = source && `reads “${shortened(source.text)}” ${isRecurrent(app.doc) ? "token by token" : "at once"}`;
	const written = readable(output[app.state.step]?.token_string ?? "");
	if (!target) return `The model ${read}, mixes what its words mean, and hands on one vector for each token.`;
	const rest = `one token at a time. At this step it writes “${written}”.`;
	if (source?.tokens.length === 1 && output.length === 1) return "No word of this text is translated: it is copied, and the model reads and writes the end alone.";
	if (source) return `The model ${read} and writes “${shortened(textOf(output.slice(0, -1).map((each) => each.token_string)))}” ${rest}`;
	return `The model goes on from “${shortened(textOf(target.token_strings.slice(1, app.numGiven + 1)))}”, ${rest}`;
}

/** What the model attends to at the word in view, as lines. @param {App} app @returns {Promise<HTMLElement[]>} */
async function whatItLooksAt(app) {
	const found = await alignment(app, app.doc);
	if (!found) return [];
	const { mean, spans, part, numHeads } = found;
	const focus = spans.findIndex(([first = 0, last = 0]) => first <= app.here && app.here <= last);
	const isCross = part.kind === "cross_attention";
	const isWriting = app.doc.target !== null;
	// A text that goes on reads itself: what is not yet written is not drawn.
	const [queries, keys] = isWriting && !isCross ? [found.rows.slice(0, focus + 1), found.columns.slice(0, focus + 1)] : [found.rows, found.columns];
	const lines = queries.flatMap((_, row) => (isWriting && row > focus ? [] : keys.map((_, column) => ({ row, column, weight: mean[row]?.[column] ?? 0, head: 0, path: part.path }))));
	const sides = { rowSpans: spans, columnSpans: [], queries, keys, focus, isWriting, areWritten: true };
	const here = lines.filter((each) => each.row === focus).sort((a, b) => b.weight - a.weight);
	const most = here.find((each) => !isSpecial(keys[each.column] ?? ""));
	const first = here[0];
	const word = most && `“${keys[most.column]}”`;
	const mostly = !first || first === most ? word : `“${keys[first.column]}”, which is no word${word ? `, and then at ${word}` : ""}`;
	const heads = numHeads === 1 ? "here of the one head" : `the mean of the ${numHeads} heads`;
	const every = button({ class: "small", onclick: () => app.go({ view: "attention-lines", attention: part.path, heads: "layer" }) }, "every head ▸");
	return [
		card(
			["What it looks at", every],
			p("", `${isWriting ? "While it writes" : "At"} “${queries[focus]}” the model looks most at ${mostly}. A thicker line is more attention, ${heads} of ${titleOf(part)}. Choose a word.`),
			linesBetween(app, sides, lines.filter((each) => each.weight >= MIN_WEIGHT), false),
			twin("the lines as a table", ["looks at", "weight"], () => here.map((each) => tableRow({}, keys[each.column], cell(each.weight)))),
		),
	];
}

/** @type {Panel} */
export const overviewPanel = {
	id: "overview",
	title: "Overview",
	keys: ["step", "token"],
	fits: (app) => app.has("source.input") || app.has("target.input"),
	async draw(app) {
		const { doc, state } = app;
		const encoder = doc.source ? stagesOf(app, "encoder") : [];
		const decoder = doc.target ? stagesOf(app, "decoder") : [];
		const drawn = await Promise.all([...encoder, ...decoder].map((stage, i) => drawStage(app, stage, i + 1)));
		const written = hasOutput(app) ? doc.output[app.here] : null;
		/** @type {HTMLElement[]} */
		const parts = [
			lead(plainly(app)),
			...(await whatItLooksAt(app)),
			element("h2", {}, `In numbers: ${drawn.length + (written || app.isReader ? 1 : 0)} steps`),
			p("", "Each band shows all the numbers that the model has at that step: one row per token, one column per feature, blue below zero and orange above."),
		];
		if (encoder.length)
			parts.push(element("h2", {}, "Reading", element("small", {}, isRecurrent(doc) ? "token by token, in both directions" : "all tokens at once")), ...drawn.slice(0, encoder.length));
		if (decoder.length) {
			parts.push(
				element("h2", {}, "Writing", element("small", {}, `step ${state.step + 1}: one token at a time; rows appear as they are written`)),
				...drawn.slice(encoder.length),
			);
		}
		if (written) {
			parts.push(
				section(
					"stage out",
					element("h3", {}, span("number", drawn.length + 1), app.isReader ? "Linear, softmax" : "Linear, softmax, next token", codeLink(app, "probabilities")),
					p(
						"",
						`${app.isReader ? "Each" : "The last"} row is multiplied with the vector of each of the ${count(app.vocabularySize)} tokens of the vocabulary; a softmax turns these scores into ${app.isReader ? "the probabilities of standing there" : `probabilities. Written: “${readable(written.token_string)}”, ${percent(written.probability)}`}.`,
					),
					probabilityBars(app, app.here, 6),
				),
			);
		} else if (app.isReader) {
			const open = button({ class: "small", onclick: () => app.go({ view: "vector", focus: "" }) }, "open ▸");
			parts.push(section("stage out", element("h3", {}, span("number", drawn.length + 1), "Pooling", open), p("", "The rows make one vector of the sentence, with which a search compares passages.")));
		}
		return parts;
	},
};
