/** What comes out: probabilities over the whole vocabulary, the beam as a tree, a word the reader types. */

import { button, caption, cell, choice, div, drawing, element, field, form, marks, p, table, tableRow, twin } from "./dom.js";
import { hasOutput } from "./map.js";
import { count, percent, readable, show, textOf, tokenLabels } from "./numbers.js";
import { asking, card, codeLink, lead, probabilityBars } from "./parts.js";
import { beamSlider, temperatureCard } from "./searching.js";
import { range } from "./tensor.js";

const SHOWN = 12;

/** @param {App} app */
function typedWord(app) {
	const input = field("typed-word", "a word");
	const answer = element("div", { id: "typed-answer", "aria-live": "polite" });
	const asks = asking(answer);
	const ask = async () => {
		const text = input.value.trim();
		if (!text) return;
		await asks(() => app.data.probability(app.state.run, app.state.step, text), ({ token_strings: tokenStrings, probabilities }) => {
			const all = probabilities.reduce((product, each) => product * each, 1);
			return [
				p(
					"",
					...tokenStrings.flatMap((tokenString, i) => [
						`${i ? " × " : ""}${readable(tokenString)} `,
						element("b", { "data-role": "typed", "data-value": probabilities[i] }, percent(probabilities[i] ?? 0)),
					]),
					tokenStrings.length > 1 && " = ",
					tokenStrings.length > 1 && element("b", { "data-value": all }, percent(all)),
				),
			];
		});
	};
	const label = element("label", { for: "typed-word" }, "How probable is ");
	return form("inline-form", ask, label, input, element("button", { type: "submit" }, "here?"), answer);
}

/** The search as it went: each column a step, each node a hypothesis, the way of the result in colour. @param {App} app */
function beamTree(app) {
	const { steps, output, search } = app.doc;
	const most = Math.max(0, ...steps.map((step) => step.beams.length));
	if (steps.length < 2 || most < 2 || search?.method === "sample") {
		const choose = beamSlider(app);
		return choose && card("Beam search", choose);
	}
	const final = output.map((each) => each.token);
	const column = 96;
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
		nodes.push(caption("axis", at(s, 0).x + 40, 14, s === 0 ? "start" : `after ${s}`));
		each.beams.forEach((beam, rank) => {
			const { x, y } = at(s, rank);
			const good = isOnWay(beam.tokens);
			if (s > 0 && beam.parent !== null) {
				const from = at(s - 1, beam.parent);
				links.push(
					drawing("path", { class: good ? "way" : "", d: `M${from.x + 82} ${from.y}C${from.x + 92} ${from.y} ${x - 10} ${y} ${x} ${y}` }),
				);
			}
			const last = beam.token_strings.at(-1);
			nodes.push(
				drawing(
					"g",
					{ class: `node ${good ? "way" : ""} ${s === app.state.step ? "now" : ""}` },
					drawing("title", {}, `${textOf(beam.token_strings)} (sum of log-probabilities ${show(beam.score)})`),
					drawing("rect", { x, y: y - 15, width: 82, height: 30, rx: 6 }),
					caption("", x + 41, y - 2, last === undefined ? "<s>" : readable(last)),
					caption("axis", x + 41, y + 11, show(beam.score, 2), "middle", marks(beam.score, { name: `steps.${s}.scores`, index: [rank] })),
				),
			);
		});
	});
	picture.append(...links, ...nodes);
	const scroll = element("div", { class: "tree-scroll", tabindex: 0 }, picture);
	requestAnimationFrame(() => {
		scroll.scrollLeft = at(app.state.step, 0).x - scroll.clientWidth / 2;
	});
	return card(
		["The beam as a tree", codeLink(app, "beam")],
		p(
			"",
			`Each step keeps the ${most} best unfinished hypotheses; the number is the sum of log-probabilities. The coloured path became the result.`,
		),
		scroll,
		beamSlider(app),
		twin("the tree as a table", ["tokens so far", "extends", "hypothesis", "sum of logs"], () =>
			steps.flatMap((step, s) =>
				step.beams.map((beam, rank) =>
					tableRow(
						{ class: isOnWay(beam.tokens) ? "here" : "" },
						s,
						beam.parent === null ? "" : beam.parent + 1,
						element("td", { class: "word" }, `${rank + 1}. ${textOf(beam.token_strings) || "<s>"}`),
						cell(beam.score, { name: `steps.${s}.scores`, index: [rank] }),
					),
				),
			),
		),
	);
}

/** @param {App} app */
function sentenceTable(app) {
	let sum = 0;
	const { isReader, numGiven } = app;
	const rows = app.doc.output.map((each, step) => {
		const isGiven = step < numGiven;
		if (!isGiven) sum += Math.log(each.probability);
		const second = each.top.find((other) => other.token !== each.token);
		return tableRow(
			{ class: step === app.here ? "here" : "" },
			readable(each.token_string),
			cell(each.probability, { name: "output", index: [step] }, percent(each.probability)),
			!isReader && (isGiven ? "given" : cell(sum, null, show(sum, 3))),
			second && `${readable(second.token_string)} ${percent(second.probability)}`,
		);
	});
	if (isReader)
		return card("Every place", p("", "How probable the model finds each token where it stands."), table(["token", "probability", "", "most probable other token"], rows));
	return card(
		"The whole sentence",
		p("", `The product of the probabilities is the probability of ${numGiven ? "what was written" : "the output"}: ${show(Math.exp(sum), 6)}; its logarithm is ${show(sum, 4)}.`),
		table(["token", "probability", "sum of logs so far", "most probable other token"], rows),
	);
}

/** The blanks of the text and what the model fills in. @param {App} app */
function blanks(app) {
	const { source, model, output } = app.doc;
	const places = range(output.length).filter((i) => model.mask && source?.token_strings[i] === model.mask);
	if (!places.length) return null;
	const filled = places.map((i) => /** @type {Choice} */ ([i, `${readable(output[i]?.token_string ?? "")} ${percent(output[i]?.probability ?? 0)}`]));
	return choice("blanks filled", filled, String(app.here), (value) => app.go({ token: Number(value) }));
}

/** @type {Panel} */
export const outputPanel = {
	id: "output",
	title: "Output",
	keys: ["step", "token"],
	fits: hasOutput,
	async draw(app) {
		const { doc, here, isReader } = app;
		const written = doc.output[here];
		if (!written) return [];
		const read = textOf(doc.target?.token_strings.slice(0, here + 1) ?? []);
		const place = { name: "logits", index: [here, written.token] };
		const logits = app.has("logits") ? await app.tensor("logits") : null;
		const logit = logits?.at(place.index) ?? null;
		return [
			lead(
				isReader
					? `The model has read the words on both sides of “${tokenLabels(doc.source)[here]}” and gives each of the ${count(app.vocabularySize)} tokens of the vocabulary a probability of standing there. So it fills blanks.`
					: `After “${read}”, each of the ${count(app.vocabularySize)} tokens of the vocabulary gets a score, and a softmax turns the scores into probabilities that sum to 1. The largest are below.`,
			),
			isReader ? blanks(app) : null,
			div(
				"columns",
				element(
					"section",
					{ class: "card", id: "part-softmax" },
					element("h3", {}, isReader ? `Place ${here + 1}` : `Step ${here + 1}: the next token`, codeLink(app, "probabilities")),
					probabilityBars(app, here, SHOWN),
					logit !== null &&
						element(
							"p",
							{ class: "note", id: "part-linear" },
							`Before the softmax “${readable(written.token_string)}” had the score `,
							button({ class: "operand", ...marks(logit, place), onclick: () => app.open(place) }, show(logit)),
							": the linear map's dot product.",
						),
					!isReader && typedWord(app),
				),
				sentenceTable(app),
			),
			beamTree(app),
			isReader || !logits ? null : temperatureCard(app, logits.row(here)),
		].filter((node) => node !== null);
	},
};
