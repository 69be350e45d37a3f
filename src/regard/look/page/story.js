/** What the guided tour tells: a dozen steps, each with the numbers it speaks of. */

import { attentions, numLayers, parsePath, sidesOf } from "./anatomy.js";
import { count, readable } from "./numbers.js";
import { normText } from "./parts.js";
import { range } from "./tensor.js";

/** A traced number for the text. @param {App} app @param {string} name @param {number[]} index @param {number} [digits] @returns {Promise<Words>} */
async function traced(app, name, index, digits = 4) {
	return { value: (await app.tensor(name)).at(index), place: { name, index }, digits };
}

/** @param {App} app */
function side(app) {
	return app.doc.source ? "source" : "target";
}

/** @param {string[]} pieces @param {number} [from] @returns {number} the longest piece: something with meaning to look at */
function telling(pieces, from = 0) {
	const sizes = pieces.map((piece, i) => (i < from ? 0 : piece.replace(/^▁|^<.*>$/, "").length));
	return sizes.indexOf(Math.max(...sizes));
}

/** @param {App} app */
function writingStep(app) {
	return telling(
		app.doc.output.map((each) => each.piece),
		app.numGiven,
	);
}

/** The first attention that is computed. @param {App} app */
function firstPath(app) {
	return attentions(app.doc)[0]?.path ?? "";
}

/** The two different words that the first layer links most strongly, and the head that does. @param {App} app */
async function bestPair(app) {
	const path = firstPath(app);
	const pieces = app.doc[side(app)]?.pieces ?? [];
	const weights = await app.tensor(`${path}.weights`);
	const long = range(pieces.length).filter((i) => /^▁?\p{L}{4,}$/u.test(pieces[i] ?? ""));
	const places = long.length > 1 ? long : range(pieces.length);
	let best = { head: 0, row: 0, column: 0, weight: -1 };
	for (let head = 0; head < weights.length(0); head++) {
		for (const row of places) {
			for (const column of places) {
				const weight = weights.at([head, row, column]);
				if (row !== column && weight > best.weight) best = { head, row, column, weight };
			}
		}
	}
	return { path, ...best, from: readable(pieces[best.row] ?? ""), to: readable(pieces[best.column] ?? "") };
}

/** @param {App} app @param {string} focus @returns {Promise<Partial<State>>} */
async function atBestPair(app, focus) {
	const { path, head, row } = await bestPair(app);
	return { view: "attention", attention: path, head, focus, [app.doc.source ? "token" : "step"]: row };
}

/** @param {App} app */
function lastCross(app) {
	return attentions(app.doc)
		.filter((part) => part.kind === "cross_attention")
		.at(-1);
}

/** @param {string} last @returns {(app: App) => boolean} whether the first attention keeps it */
const keeps = (last) => (app) => app.has(`${firstPath(app)}.${last}`);

/** @param {App} app */
const writes = (app) => app.doc.output.length > 0;

/** @type {TourStep[]} */
export const STORY = [
	{
		title: "A sentence goes in",
		code: "pieces",
		view: (app) => ({ view: "journey", step: app.numGiven, token: 0 }),
		tell: async (app) => {
			const { source, target, title } = app.doc;
			const number = source?.pieces.length ?? (app.numGiven || (target?.pieces.length ?? 0));
			return [
				`“${title}” is cut into ${number} pieces from a list of fixed size, so that no word is ever unknown: rare ones are simply cut finer. `,
				source ? "Under each piece in the strip stands its number in that list. The last one says that the sentence is over. " : "",
				"From here on, everything is numbers.",
			];
		},
	},
	{
		title: "Pieces become vectors",
		code: "embedding",
		fits: (app) => app.has(`${side(app)}.embedding`),
		view: (app) => ({ view: "embedding", [app.doc.source ? "token" : "step"]: telling(app.doc[side(app)]?.pieces ?? []) }),
		tell: async (app) => {
			const pieces = app.doc[side(app)]?.pieces ?? [];
			const i = telling(pieces);
			/** @param {number} feature */
			const number = (feature) => traced(app, `${side(app)}.embedding`, [i, feature]);
			return [
				`Each piece picks its row of a learned table: ${app.config.d_model} numbers. For “${readable(pieces[i] ?? "")}” they begin with `,
				...[await number(0), ", ", await number(1), ", ", await number(2)],
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
			"What follows treats all words at once and would not notice if they were shuffled. So each place adds a vector of its own to the word that stands there. Place 1 adds ",
			await traced(app, `${side(app)}.position`, [1, 0]),
			` to feature 0${app.config.position === "sinusoidal" ? ": the sine of 1" : ""}. Try any cell, then see below why simpler ideas fall short.`,
		],
	},
	{
		title: "Three views of every word",
		code: "query",
		fits: keeps("query"),
		view: (app) => atBestPair(app, "query"),
		tell: async (app) => {
			const { path, head, row, from } = await bestPair(app);
			return [
				`As in a library: a query says what I am looking for, a key what a book is found by, a value what is in it. Three learned maps make all three of each word. The query of “${from}” in this head begins with `,
				await traced(app, `${path}.query`, [head, row, 0]),
				".",
			];
		},
	},
	{
		title: "Who matters to whom",
		code: "scores",
		fits: keeps("scores"),
		view: (app) => atBestPair(app, "scores"),
		tell: async (app) => {
			const { path, head, row, column, from, to } = await bestPair(app);
			/** @param {string} last */
			const number = (last) => traced(app, `${path}.${last}`, [head, row, column]);
			return [
				`“${from}” meets “${to}”: the dot product of query and key is `,
				await number("scores"),
				". Divided by the root of their length it is ",
				await number("scaled"),
				". The softmax turns the row into shares that sum to 1, and this one gets ",
				await number("weights"),
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
			`One head asks one question: what is the verb, who does it, when? So each layer has ${app.config.num_heads} of them, with maps of their own. Their answers are laid side by side and mixed by one more map. A bright diagonal is a head that looks at the word itself or at its neighbour; a bright column is a word many need.`,
		],
	},
	{
		title: "Add, and keep in scale",
		code: "residual",
		fits: keeps("residual"),
		view: (app) => atBestPair(app, "residual"),
		tell: async (app) => {
			const { path, row } = await bestPair(app);
			return [
				"What attention found is added to what was there, never put in its place, so a deep stack still remembers the word. Feature 0 here becomes ",
				await traced(app, `${path}.residual`, [row, 0]),
				`. A norm keeps things in scale. ${normText(app)}`,
			];
		},
	},
	{
		title: "Each word thinks alone",
		code: "hidden",
		fits: (app) => app.has(firstPath(app).replace("self_attention", "feed_forward.hidden")),
		view: (app) => ({ view: "feed-forward", attention: firstPath(app).replace("self_attention", "feed_forward"), focus: "hidden" }),
		tell: async (app) => [
			`Then a small network, the same for every position, widens ${app.config.d_model} features to ${count(app.config.d_ff)} and narrows them again. Between the two, what is negative is switched off${app.config.feed_forward === "relu" ? "" : ", or nearly so"}. Here nothing passes between words: attention gathers, this digests.`,
		],
	},
	{
		title: "Layer upon layer, then memory",
		code: "memory",
		fits: (app) => app.has("memory"),
		view: () => ({ view: "journey" }),
		tell: async (app) => [
			`The same two parts again, ${numLayers(app.doc, "encoder")} layers high, each with weights of its own. All words climb together; a recurrent network would have walked from word to word and carried it all in one vector. What arrives on top, one vector a piece, is the memory that the writer consults. Its first number is `,
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
			focus: "masked",
		}),
		tell: async (app) => {
			const { pieces } = sidesOf(app.doc, /** @type {SubLayer} */ (parsePath("decoder.layers.0.self_attention"))).rows;
			const last = pieces.length - 1;
			return [
				`The ${app.doc.source ? "second sentence" : "text"} is written one piece at a time, and each piece may look only back. The hatched cells are the future: the mask sets them to −∞, and so “${readable(pieces[0] ?? "")}” gives “${readable(pieces[last] ?? "")}” a weight of exactly `,
				await traced(app, "decoder.layers.0.self_attention.weights", [0, 0, last], 1),
				". That is why all steps could be trained at once: nobody could cheat.",
			];
		},
	},
	{
		title: "Looking back at the source",
		code: "attention",
		fits: (app) => lastCross(app) !== undefined,
		view: (app) => ({ view: "lines", attention: lastCross(app)?.path ?? "", heads: "layer", unit: "pieces", step: writingStep(app) }),
		tell: async (app) => {
			const name = `${lastCross(app)?.path}.weights`;
			const step = writingStep(app);
			const weights = await app.tensor(name);
			let best = { head: 0, column: 0, weight: -1 };
			for (let head = 0; head < weights.length(0); head++) {
				weights.row(head, step).forEach((weight, column) => {
					if (weight > best.weight) best = { head, column, weight };
				});
			}
			return [
				`To write “${readable(app.doc.output[step]?.piece ?? "")}”, the decoder asks (queries) and the memory answers (keys and values). Head ${best.head + 1} puts `,
				await traced(app, name, [best.head, step, best.column]),
				` of its attention on “${readable(app.doc.source?.pieces[best.column] ?? "")}”. Nobody gave the model a dictionary. Press play and watch the lines follow the writing.`,
			];
		},
	},
	{
		title: "The next word",
		code: "probabilities",
		fits: writes,
		view: (app) => ({ view: "output", step: writingStep(app), focus: "" }),
		tell: async (app) => {
			const step = writingStep(app);
			const written = app.doc.output[step];
			const rival = written?.top.find((each) => each.token !== written.token);
			/** @param {Candidate | undefined} each @param {string} joint @returns {Words[]} */
			const share = (each, joint) =>
				each
					? [
							`${joint}“${readable(each.piece)}” gets `,
							{ value: each.probability, place: { name: "probabilities", index: [step, each.token] } },
						]
					: [];
			return [
				"A last linear map scores every piece of the vocabulary, a softmax makes probabilities of the scores. ",
				...share(written, ""),
				...share(rival, ", "),
				". It is written, fed back in, and the next step begins, until the end mark is the best choice. Several beginnings are kept alive meanwhile: the tree below.",
			];
		},
	},
	{
		title: "Now break it",
		code: "search",
		fits: writes,
		view: () => ({ view: "what-if" }),
		tell: async () => [
			"Turn a head off, take the positions away, put another word in its mouth: the whole model runs again with your change. The same page opens for any sentence and any model of this kind, one that answers “Hi how are you” or one that goes on from “As aliens entered our planet”. Every number you have seen was the model's own.",
		],
	},
];
