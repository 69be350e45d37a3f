/** What comes out: probabilities over the whole vocabulary, the beam as a tree, a word the reader types. */

import { button, drawing, element, marks, table, tableRow } from "./dom.js";
import { count, percent, readable, show } from "./numbers.js";
import { card, codeLink, lead, probabilityBars, trouble } from "./parts.js";

const SHOWN = 12;

/** @param {App} app */
function typedWord(app) {
	const input = element("input", { type: "text", id: "typed-word", placeholder: "a word", "aria-label": "a word", autocomplete: "off" });
	const answer = element("div", { id: "typed-answer", "aria-live": "polite" });
	const ask = async () => {
		const text = input.value.trim();
		if (!text) return;
		try {
			const { pieces, probabilities } = await app.data.probability(app.state.run, app.state.step, text);
			const all = probabilities.reduce((product, each) => product * each, 1);
			answer.replaceChildren(
				element(
					"p",
					{},
					...pieces.flatMap((piece, i) => [
						i ? " × " : "",
						element(
							"span",
							{},
							`${readable(piece)} `,
							element("b", { "data-role": "typed", "data-value": probabilities[i] }, percent(probabilities[i] ?? 0)),
						),
					]),
					pieces.length > 1 ? " = " : "",
					pieces.length > 1 ? element("b", { "data-value": all }, percent(all)) : "",
				),
			);
		} catch (error) {
			answer.replaceChildren(trouble(error));
		}
	};
	return element(
		"form",
		{
			class: "inline-form",
			onsubmit: (/** @type {Event} */ event) => {
				event.preventDefault();
				ask();
			},
		},
		element("label", { for: "typed-word" }, "How probable is "),
		input,
		element("button", { type: "submit" }, "here?"),
		answer,
	);
}

/**
 * The search as it went: each column a step, each node a hypothesis, the way of the result in colour.
 * @param {App} app
 */
function beamTree(app) {
	const { steps, output } = app.doc;
	const most = Math.max(0, ...steps.map((step) => step.beams.length));
	if (steps.length < 2 || most < 1) return null;
	const final = output.map((each) => each.token);
	const column = 104;
	const row = 40;
	const width = steps.length * column + 20;
	const height = most * row + 34;
	const picture = drawing("svg", {
		class: "tree",
		viewBox: `0 0 ${width} ${height}`,
		width,
		height,
		role: "img",
		"aria-label": `Beam search, ${steps.length} steps, up to ${most} hypotheses`,
	});
	/** @param {number[]} tokens */
	const isOnWay = (tokens) => tokens.every((token, i) => token === final[i]);
	/** @param {number} step @param {number} rank */
	const at = (step, rank) => ({ x: 14 + step * column, y: 40 + rank * row });
	/** @type {SVGElement[]} */
	const links = [];
	/** @type {SVGElement[]} */
	const nodes = [];
	steps.forEach((each, s) => {
		nodes.push(drawing("text", { class: "axis", x: at(s, 0).x + 40, y: 14, "text-anchor": "middle" }, s === 0 ? "start" : `after ${s}`));
		each.beams.forEach((beam, rank) => {
			const { x, y } = at(s, rank);
			const good = isOnWay(beam.tokens);
			if (s > 0 && beam.parent !== null) {
				const from = at(s - 1, beam.parent);
				links.push(
					drawing("path", { class: good ? "way" : "", d: `M${from.x + 82} ${from.y}C${from.x + 96} ${from.y} ${x - 14} ${y} ${x} ${y}` }),
				);
			}
			const last = beam.pieces.at(-1);
			nodes.push(
				drawing(
					"g",
					{ class: `node ${good ? "way" : ""} ${s === app.state.step ? "now" : ""}` },
					drawing("title", {}, `${beam.pieces.join("").replaceAll("▁", " ")} (sum of log-probabilities ${show(beam.score)})`),
					drawing("rect", { x, y: y - 15, width: 82, height: 30, rx: 6 }),
					drawing("text", { x: x + 41, y: y - 2, "text-anchor": "middle" }, last === undefined ? "<s>" : readable(last)),
					drawing(
						"text",
						{
							class: "axis",
							x: x + 41,
							y: y + 11,
							"text-anchor": "middle",
							...marks(beam.score, { name: `steps.${s}.scores`, index: [rank] }),
						},
						show(beam.score, 2),
					),
				),
			);
		});
	});
	picture.append(...links, ...nodes);
	return card(
		["The beam as a tree", codeLink(app, "beam")],
		element(
			"p",
			{},
			`Each step keeps the ${most} best unfinished beginnings; under each, the sum of its log-probabilities. The coloured way became the result.`,
		),
		element("div", { class: "tree-scroll", tabindex: 0 }, picture),
	);
}

/** @param {App} app */
function sentenceTable(app) {
	let sum = 0;
	const rows = app.doc.output.map((each, step) => {
		sum += Math.log(each.probability);
		const second = each.top.find((other) => other.token !== each.token);
		return tableRow(
			{ class: step === app.state.step ? "here" : "" },
			readable(each.piece),
			element("td", marks(each.probability, { name: "output", index: [step] }), percent(each.probability)),
			element("td", { "data-value": sum }, show(sum, 3)),
			element("td", {}, second ? `${readable(second.piece)} ${percent(second.probability)}` : ""),
		);
	});
	return card(
		"The whole sentence",
		element(
			"p",
			{},
			`Multiplied together the probabilities give the sentence's own: ${show(Math.exp(sum), 6)}, whose logarithm is ${show(sum, 4)}.`,
		),
		table(["piece", "probability", "sum of logs so far", "the next best here"], rows),
	);
}

/** @type {Panel} */
export const outputPanel = {
	id: "output",
	title: "Output",
	keys: ["step"],
	fits: (app) => app.doc.output.length > 0,
	async draw(app) {
		const { doc, state } = app;
		const written = doc.output[state.step];
		if (!written) return [];
		const size = doc.tensors["probabilities"]?.shape[1] ?? doc.model.config.target_vocab_size;
		const read =
			doc.target?.pieces
				.slice(0, state.step + 1)
				.join("")
				.replaceAll("▁", " ") ?? "";
		const place = { name: "logits", index: [state.step, written.token] };
		const logit = app.has("logits") && app.data.isLive ? (await app.tensor("logits")).at(place.index) : null;
		return [
			lead(
				`After “${read.trim()}”, each of the ${count(size)} pieces of the vocabulary gets a score, and a softmax makes probabilities of them. All together they are 1; below are the largest.`,
			),
			element(
				"div",
				{ class: "columns" },
				element(
					"section",
					{ class: "card", id: "part-softmax" },
					element("h3", {}, `Step ${state.step + 1}: the next piece`, codeLink(app, "probabilities")),
					probabilityBars(app, state.step, SHOWN),
					logit === null
						? null
						: element(
								"p",
								{ class: "note", id: "part-linear" },
								"Before the softmax “",
								readable(written.piece),
								"” had the score ",
								button({ class: "operand", ...marks(logit, place), onclick: () => app.open(place) }, show(logit)),
								": the linear map's dot product.",
							),
					typedWord(app),
				),
				sentenceTable(app),
			),
			beamTree(app),
		].filter((node) => node !== null);
	},
};
