/** A guided tour: the whole story in a dozen steps, each beside the numbers it speaks of. */

import { attentions, numLayers, sidesOf } from "./anatomy.js";
import { button, element, marks } from "./dom.js";
import { count, percent, readable, show } from "./numbers.js";
import { codeLink } from "./parts.js";

/**
 * A traced number for the text.
 * @param {App} app
 * @param {string} name
 * @param {number[]} index
 * @param {number} [digits]
 */
async function traced(app, name, index, digits = 4) {
	return { value: (await app.tensor(name)).at(index), place: { name, index }, digits };
}

/** The longest word's piece: something with meaning to look at. @param {string[]} pieces */
function telling(pieces) {
	return pieces.reduce(
		(best, piece, i) => (piece.replace(/^▁|^<.*>$/, "").length > (pieces[best] ?? "").replace(/^▁|^<.*>$/, "").length ? i : best),
		0,
	);
}

/** @param {App} app */
function firstAttention(app) {
	const all = attentions(app.doc);
	return (
		all.find((part) => part.stack === "encoder") ??
		all[0] ?? { path: "", stack: /** @type {const} */ ("encoder"), layer: 0, kind: /** @type {const} */ ("self_attention") }
	);
}

/** @param {App} app */
function writingStep(app) {
	return telling(app.doc.output.map((each) => each.piece));
}

/** The two different words that the first layer links most strongly, and the head that does. @param {App} app */
async function bestPair(app) {
	const part = firstAttention(app);
	const { rows, columns } = sidesOf(app.doc, part);
	const weights = await app.tensor(`${part.path}.weights`);
	/** @param {string | undefined} piece */
	const isWord = (piece) => /^▁?\p{L}{3,}$/u.test(piece ?? "");
	let best = { head: 0, row: 0, column: 0, weight: -1 };
	for (let head = 0; head < weights.length(0); head++) {
		rows.pieces.forEach((from, row) =>
			columns.pieces.forEach((to, column) => {
				const weight = weights.at([head, row, column]);
				if (row !== column && isWord(from) && isWord(to) && weight > best.weight) best = { head, row, column, weight };
			}),
		);
	}
	return { part, ...best, from: readable(rows.pieces[best.row] ?? ""), to: readable(columns.pieces[best.column] ?? "") };
}

/** @param {App} app @param {string} focus @returns {Promise<Partial<State>>} */
async function atBestPair(app, focus) {
	const { part, head, row } = await bestPair(app);
	return { view: "attention", attention: part.path, head, focus, [app.doc.source ? "token" : "step"]: row };
}

/** @param {App} app */
function side(app) {
	return app.doc.source ? "source" : "target";
}

/** @param {string} name */
const has = (name) => (/** @type {App} */ app) => app.has(name);

/** @type {TourStep[]} */
export const TOUR = [
	{
		title: "A sentence goes in",
		code: "pieces",
		view: () => ({ view: "journey", step: 0, token: 0 }),
		tell: async (app) => {
			const read = app.doc[side(app)];
			return [
				`“${read?.text}” is cut into ${read?.pieces.length} pieces from a list of fixed size, so that no word is ever unknown: rare ones are simply cut finer. Under each piece in the strip stands its number in that list. The last one says that the sentence is over. From here on, everything is numbers.`,
			];
		},
	},
	{
		title: "Pieces become vectors",
		code: "embedding",
		fits: (app) => app.has(`${side(app)}.embedding`),
		view: (app) => ({ view: "embedding", token: app.doc.source ? telling(app.doc.source.pieces) : 0 }),
		tell: async (app) => {
			const pieces = app.doc[side(app)]?.pieces ?? [];
			const i = telling(pieces);
			return [
				`Each piece picks its row of a learned table: ${app.doc.model.config.d_model} numbers. For “${readable(pieces[i] ?? "")}” they begin with `,
				await traced(app, `${side(app)}.embedding`, [i, 0]),
				", ",
				await traced(app, `${side(app)}.embedding`, [i, 1]),
				", ",
				await traced(app, `${side(app)}.embedding`, [i, 2]),
				". Training has put words that are used alike near one another: look at its neighbours.",
			];
		},
	},
	{
		title: "Order is added",
		code: "position",
		fits: (app) => app.has(`${side(app)}.position`),
		view: () => ({ view: "positions" }),
		tell: async (app) => [
			"What follows treats all words at once and would not notice if they were shuffled. So each place adds a vector of waves to the word that stands there. Place 1 adds ",
			await traced(app, `${side(app)}.position`, [1, 0]),
			" to feature 0: the sine of 1. Try any cell, then see below why simpler ideas fall short.",
		],
	},
	{
		title: "Three views of every word",
		code: "query",
		fits: (app) => app.has(`${firstAttention(app).path}.query`),
		view: (app) => atBestPair(app, "query"),
		tell: async (app) => {
			const { part, head, row, from } = await bestPair(app);
			return [
				"As in a library: a query says what I am looking for, a key what a book is found by, a value what is in it. Three learned maps make all three of each word. The query of “",
				from,
				"” in this head begins with ",
				await traced(app, `${part.path}.query`, [head, row, 0]),
				".",
			];
		},
	},
	{
		title: "Who matters to whom",
		code: "scores",
		fits: (app) => app.has(`${firstAttention(app).path}.scores`),
		view: (app) => atBestPair(app, "scores"),
		tell: async (app) => {
			const { part, head, row, column, from, to } = await bestPair(app);
			const index = [head, row, column];
			return [
				`“${from}” meets “${to}”: the dot product of query and key is `,
				await traced(app, `${part.path}.scores`, index),
				`. Divided by the root of their length it is `,
				await traced(app, `${part.path}.scaled`, index),
				". The softmax turns the row into shares that sum to 1, and this one gets ",
				await traced(app, `${part.path}.weights`, index),
				". Click any of these numbers: the sum is done before your eyes.",
			];
		},
	},
	{
		title: "Many heads, many questions",
		code: "concatenated",
		fits: (app) => attentions(app.doc).length > 0,
		view: () => ({ view: "heads" }),
		tell: async (app) => [
			`One head asks one question: what is the verb, who does it, when? So each layer has ${app.doc.model.config.num_heads} of them, with maps of their own. Their answers are laid side by side and mixed by one more map. A bright diagonal is a head that looks at the word itself or at its neighbour; a bright column is a word many need.`,
		],
	},
	{
		title: "Add, and keep in scale",
		code: "residual",
		fits: (app) => app.has(`${firstAttention(app).path}.residual`),
		view: (app) => atBestPair(app, "residual"),
		tell: async (app) => {
			const { part, row } = await bestPair(app);
			return [
				"What attention found is added to what was there, never put in its place, so a deep stack still remembers the word. Feature 0 here becomes ",
				await traced(app, `${part.path}.residual`, [row, 0]),
				". A norm keeps each position in scale: mean 0 and spread 1 over its own features, whatever the other words do.",
			];
		},
	},
	{
		title: "Each word thinks alone",
		code: "hidden",
		fits: (app) => Object.keys(app.doc.tensors).some((name) => name.includes("feed_forward")),
		view: (app) => ({
			view: "feed-forward",
			attention: firstAttention(app).path.replace(/self_attention|cross_attention/, "feed_forward"),
			focus: "hidden",
		}),
		tell: async (app) => [
			`Then a small network, the same for every position, widens ${app.doc.model.config.d_model} features to ${count(app.doc.model.config.d_ff)} and narrows them again. Between the two, what is negative is switched off. Here nothing passes between words: attention gathers, this digests.`,
		],
	},
	{
		title: "Layer upon layer, then memory",
		code: "memory",
		fits: has("memory"),
		view: () => ({ view: "journey" }),
		tell: async (app) => [
			`The same two parts again, ${numLayers(app.doc, "encoder")} layers high, each with weights of its own. All words climb together; a recurrent network would have had to walk the sentence word by word and carry it all in one vector. What arrives on top, one vector a piece, is the memory that the writer may consult at any time. Its first number is `,
			await traced(app, "memory", [0, 0]),
			".",
		],
	},
	{
		title: "Writing without peeking",
		code: "masked",
		fits: (app) => app.has("decoder.layers.0.self_attention.masked"),
		view: (app) => ({
			view: "attention",
			attention: "decoder.layers.0.self_attention",
			head: 0,
			step: Math.min(2, app.numSteps - 1),
			focus: "scores",
		}),
		tell: async (app) => {
			const target = app.doc.target?.pieces ?? [];
			const last = target.length - 1;
			return [
				`The second sentence is written one piece at a time, and each piece may look only back. The hatched cells are the future: the mask sets them to −∞, and so “${readable(target[0] ?? "")}” gives “${readable(target[last] ?? "")}” a weight of exactly `,
				await traced(app, "decoder.layers.0.self_attention.weights", [0, 0, last], 1),
				". That is why all steps could be trained at once: nobody could cheat.",
			];
		},
	},
	{
		title: "Looking back at the source",
		code: "attention",
		fits: (app) => attentions(app.doc).some((part) => part.kind === "cross_attention"),
		view: (app) => ({
			view: "lines",
			attention:
				attentions(app.doc)
					.filter((part) => part.kind === "cross_attention")
					.at(-1)?.path ?? "",
			heads: "layer",
			unit: "pieces",
			step: writingStep(app),
		}),
		tell: async (app) => {
			const part = attentions(app.doc)
				.filter((each) => each.kind === "cross_attention")
				.at(-1);
			const step = writingStep(app);
			const weights = await app.tensor(`${part?.path}.weights`);
			let best = { head: 0, column: 0, weight: -1 };
			for (let head = 0; head < weights.length(0); head++) {
				weights.row(head, step).forEach((weight, column) => {
					if (weight > best.weight) best = { head, column, weight };
				});
			}
			return [
				`To write “${readable(app.doc.output[step]?.piece ?? "")}”, the decoder asks (queries) and the memory answers (keys and values). Head ${best.head + 1} puts `,
				await traced(app, `${part?.path}.weights`, [best.head, step, best.column]),
				` of its attention on “${readable(app.doc.source?.pieces[best.column] ?? "")}”. Nobody gave the model a dictionary. Press play and watch the lines follow the writing.`,
			];
		},
	},
	{
		title: "The next word",
		code: "probabilities",
		fits: (app) => app.doc.output.length > 0,
		view: (app) => ({ view: "output", step: writingStep(app), focus: "" }),
		tell: async (app) => {
			const step = writingStep(app);
			const written = app.doc.output[step];
			const rival = written?.top.find((each) => each.token !== written.token);
			return [
				`A last linear map scores every piece of the vocabulary, a softmax makes probabilities of the scores. “${readable(written?.piece ?? "")}” gets ${percent(written?.probability ?? 0)}`,
				rival ? `, “${readable(rival.piece)}” ${percent(rival.probability)}` : "",
				". It is written, fed back in, and the next step begins, until the end mark is the best choice. Several beginnings are kept alive meanwhile: the tree below.",
			];
		},
	},
	{
		title: "Now break it",
		code: "search",
		fits: (app) => app.doc.output.length > 0,
		view: () => ({ view: "what-if" }),
		tell: async () => [
			"Turn a head off, take the positions away, put another word in its mouth: the whole model runs again with your change. The same page opens for any sentence and any model of this kind, one that answers “Hi how are you” or one that goes on from “As aliens entered our planet”. Every number you have seen was the model's own.",
		],
	},
];

/** @param {App} app @returns {TourStep[]} */
function stepsFor(app) {
	return TOUR.filter((step) => step.fits?.(app) ?? true);
}

/** Bring the page to where a step of the tour speaks of. @param {App} app @param {number} number */
export async function goToStep(app, number) {
	const steps = stepsFor(app);
	const step = steps[Math.min(number, steps.length - 1)];
	if (!step || number < 0) app.go({ tour: -1 });
	else app.go({ focus: "", ...(await step.view(app)), tour: Math.min(number, steps.length - 1), place: null });
}

/** @param {App} app @returns {Promise<HTMLElement[]>} */
export async function tourCard(app) {
	const steps = stepsFor(app);
	const number = app.state.tour;
	const step = steps[number];
	if (!step) return [];
	const words = await step.tell(app);
	const text = words.map((part) =>
		typeof part === "string"
			? part
			: button(
					{ class: "operand", ...marks(part.value, part.place), onclick: () => app.open(part.place) },
					show(part.value, part.digits ?? 4),
				),
	);
	const isLast = number === steps.length - 1;
	return [
		element(
			"header",
			{},
			element("span", { class: "number" }, `${number + 1} / ${steps.length}`),
			element("h2", {}, step.title),
			codeLink(app, step.code),
			button({ class: "small", "aria-label": "end the tour", onclick: () => goToStep(app, -1) }, "✕"),
		),
		element("p", {}, ...text),
		element(
			"div",
			{ class: "controls" },
			button({ id: "tour-back", disabled: number === 0, onclick: () => goToStep(app, number - 1) }, "◂ back"),
			button({ id: "tour-on", class: "primary", onclick: () => goToStep(app, isLast ? -1 : number + 1) }, isLast ? "done" : "next ▸"),
		),
	];
}
