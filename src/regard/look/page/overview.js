/** The whole computation: tokens, embedding, position, every layer, memory, the decoder, the next token. */

import { layerOutput, numLayers, stackOutput } from "./anatomy.js";
import { button, element, p, section, span } from "./dom.js";
import { count, percent, readable, tokenLabels } from "./numbers.js";
import { band, codeLink, lead, probabilityBars } from "./parts.js";

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
	if (stack === "encoder") add("memory", "Memory", "memory", "What the decoder reads: one vector for each source token, in context.");
	else if (stackOutput(doc, stack) === "decoder.final_norm")
		add("decoder.final_norm", "Final norm", "norm", "The output of the last layer, normalised once more.");
	// Where no position is added, the sum is the embedding itself.
	return stages.filter((stage) => app.has(stage.tensor) && (app.has(`${side}.position`) || stage.code !== "input"));
}

/** @param {App} app @param {Stage} stage @param {number} number */
async function drawStage(app, { tensor, title, text, code, opens }, number) {
	const isSource = /^(source|encoder|memory)/.test(tensor);
	const side = isSource ? app.doc.source : app.doc.target;
	const rows = tokenLabels(side).slice(0, isSource ? undefined : app.state.step + 1);
	return section(
		`stage ${isSource ? "encoder" : "decoder"}`,
		element(
			"h3",
			{},
			span("number", number),
			title,
			opens && button({ class: "small", "aria-label": `open ${title}`, onclick: () => app.go({ focus: "", ...opens }) }, "open ▸"),
			codeLink(app, code),
		),
		p("", text),
		await band(app, tensor, { title: tensor, rows }),
	);
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
		const written = doc.output[state.step];
		/** @type {HTMLElement[]} */
		const parts = [
			lead(
				`From text to text in ${drawn.length + 1} steps. Each band shows all the numbers that the model has at that step: one row per token, one column per feature, blue below zero and orange above.`,
			),
		];
		if (encoder.length)
			parts.push(element("h2", {}, "Reading", element("small", {}, "all tokens at once")), ...drawn.slice(0, encoder.length));
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
					element("h3", {}, span("number", drawn.length + 1), "Linear, softmax, next token", codeLink(app, "probabilities")),
					p(
						"",
						`The last row is multiplied with the vector of each of the ${count(app.vocabularySize)} tokens of the vocabulary; a softmax turns these scores into probabilities. Written: “${readable(written.token_string)}”, ${percent(written.probability)}.`,
					),
					probabilityBars(app, state.step, 6),
				),
			);
		}
		return parts;
	},
};
