/** The whole way: pieces, embedding, position, every layer, memory, the decoder, the next word. */

import { layerOutput, numLayers, stackOutput } from "./anatomy.js";
import { element } from "./dom.js";
import { matrix } from "./matrix.js";
import { count, percent, pieceLabels, readable } from "./numbers.js";
import { codeLink, lead, probabilityBars } from "./parts.js";

/** @param {App} app @param {"encoder" | "decoder"} stack @returns {Stage[]} */
function stagesOf(app, stack) {
	const { doc } = app;
	const side = stack === "encoder" ? "source" : "target";
	const width = doc.model.config.d_model;
	/** @type {Stage[]} */
	const stages = [
		{
			tensor: `${side}.embedding`,
			title: "Embedding",
			text: `Each piece fetches its learned row of ${width} numbers, wherever it stands.`,
			code: "embedding",
		},
		{
			tensor: `${side}.position`,
			title: "Position",
			text: "Waves of different lengths: a vector for the place, the same for every word there.",
			code: "position",
		},
		{ tensor: `${side}.input`, title: "Word + position", text: "The sum enters the first layer.", code: "input" },
	];
	for (let layer = 0; layer < numLayers(doc, stack); layer++) {
		const text =
			stack === "encoder"
				? "Every piece has looked at every other, then thought on its own."
				: "Every piece has looked back at what is written, then at the source, then thought on its own.";
		stages.push({ tensor: layerOutput(doc, stack, layer), title: `${stack} layer ${layer + 1}`, text, code: stack });
	}
	if (stack === "encoder")
		stages.push({
			tensor: "memory",
			title: "Memory",
			text: "What the decoder will read: one vector in context for each piece.",
			code: "memory",
		});
	else if (stackOutput(doc, stack) === "decoder.final_norm")
		stages.push({ tensor: "decoder.final_norm", title: "Last norm", text: "The stack's output, normalised once more.", code: "norm" });
	// Where no position is added, the sum is the embedding itself.
	return stages.filter((stage) => app.has(stage.tensor) && (app.has(`${side}.position`) || stage.code !== "input"));
}

/** @param {App} app @param {Stage} stage @param {number} number */
async function drawStage(app, stage, number) {
	const values = await app.tensor(stage.tensor);
	const isSource = /^(source|encoder|memory)/.test(stage.tensor);
	const side = isSource ? app.doc.source : app.doc.target;
	const numRows = isSource ? values.length(0) : Math.min(values.length(0), app.state.step + 1);
	return element(
		"section",
		{ class: `stage ${isSource ? "encoder" : "decoder"}` },
		element("h3", {}, element("span", { class: "number" }, number), stage.title, codeLink(app, stage.code)),
		element("p", {}, stage.text),
		matrix({
			title: stage.tensor,
			note: `${values.length(0)} × ${values.length(1)}`,
			rows: pieceLabels(side).slice(0, numRows),
			columns: values.length(1),
			value: (row, column) => values.at([row, column]),
			place: (row, column) => ({ name: stage.tensor, index: [row, column] }),
			scale: "signed",
			markedRow: isSource ? app.state.token : app.state.step,
			rowHeight: 11,
			open: app.open,
		}),
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
				`From words to words in ${drawn.length + 1} stations. Each band below is all that the model knows at that point: one row a piece, one column a feature, blue below zero and orange above. Nothing else passes from one station to the next.`,
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
				element(
					"section",
					{ class: "stage out" },
					element(
						"h3",
						{},
						element("span", { class: "number" }, drawn.length + 1),
						"Linear, softmax, the word",
						codeLink(app, "probabilities"),
					),
					element(
						"p",
						{},
						`The last row meets the vector of each of the ${count(vocabularySize(app))} pieces; a softmax makes probabilities of the scores. Written: “${readable(written.piece)}”, ${percent(written.probability)}.`,
					),
					probabilityBars(app, state.step, 6),
				),
			);
		}
		return parts;
	},
};

/** @param {App} app */
function vocabularySize(app) {
	const { config } = app.doc.model;
	return app.doc.target ? config.target_vocab_size : config.source_vocab_size;
}
