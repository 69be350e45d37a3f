/** The whole way: pieces, embedding, position, every layer, memory, the decoder, the next word. */

import { layerOutput, numLayers, stackOutput } from "./anatomy.js";
import { button, element, p, section, span } from "./dom.js";
import { count, percent, pieceLabels, readable } from "./numbers.js";
import { band, codeLink, lead, probabilityBars } from "./parts.js";

/** @param {App} app @param {"encoder" | "decoder"} stack @returns {Stage[]} */
function stagesOf(app, stack) {
	const { doc } = app;
	const side = stack === "encoder" ? "source" : "target";
	/** @type {Stage[]} */
	const stages = [];
	/** @param {string} tensor @param {string} title @param {string} code @param {string} text @param {Partial<State>} [opens] */
	const add = (tensor, title, code, text, opens) => stages.push({ tensor, title, code, text, opens });
	const fetched = `Each piece fetches its learned row of ${app.config.d_model} numbers, wherever it stands.`;
	add(`${side}.embedding`, "Embedding", "embedding", fetched, { view: "embedding", focus: side });
	const placed = "A vector for the place, the same for every word that stands there.";
	add(`${side}.position`, "Position", "position", placed, { view: "positions", focus: side });
	add(`${side}.input`, "Word + position", "input", "The sum enters the first layer.");
	for (let layer = 0; layer < numLayers(doc, stack); layer++) {
		const text =
			stack === "encoder"
				? "Every piece has looked at every other, then thought on its own."
				: `Every piece has looked back at what is written, ${doc.source ? "then at the source, " : ""}then thought on its own.`;
		const opens = { view: "attention", attention: `${stack}.layers.${layer}.self_attention` };
		add(layerOutput(doc, stack, layer), `${stack} layer ${layer + 1}`, stack, text, opens);
	}
	if (stack === "encoder") add("memory", "Memory", "memory", "What the decoder will read: one vector in context for each piece.");
	else if (stackOutput(doc, stack) === "decoder.final_norm")
		add("decoder.final_norm", "Last norm", "norm", "The stack's output, normalised once more.");
	// Where no position is added, the sum is the embedding itself.
	return stages.filter((stage) => app.has(stage.tensor) && (app.has(`${side}.position`) || stage.code !== "input"));
}

/** @param {App} app @param {Stage} stage @param {number} number */
async function drawStage(app, { tensor, title, text, code, opens }, number) {
	const isSource = /^(source|encoder|memory)/.test(tensor);
	const side = isSource ? app.doc.source : app.doc.target;
	const rows = pieceLabels(side).slice(0, isSource ? undefined : app.state.step + 1);
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
export const journeyPanel = {
	id: "journey",
	title: "Journey",
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
				`From words to words in ${drawn.length + 1} stations. Each band below is all that the model knows at that point: one row a piece, one column a feature, blue below zero and orange above.`,
			),
		];
		if (encoder.length)
			parts.push(element("h2", {}, "Reading", element("small", {}, "all pieces at once")), ...drawn.slice(0, encoder.length));
		if (decoder.length) {
			parts.push(
				element("h2", {}, "Writing", element("small", {}, `step ${state.step + 1}: one piece at a time; rows appear as they are written`)),
				...drawn.slice(encoder.length),
			);
		}
		if (written) {
			parts.push(
				section(
					"stage out",
					element("h3", {}, span("number", drawn.length + 1), "Linear, softmax, the word", codeLink(app, "probabilities")),
					p(
						"",
						`The last row meets the vector of each of the ${count(app.vocabularySize)} pieces; a softmax makes probabilities of the scores. Written: “${readable(written.piece)}”, ${percent(written.probability)}.`,
					),
					probabilityBars(app, state.step, 6),
				),
			);
		}
		return parts;
	},
};
