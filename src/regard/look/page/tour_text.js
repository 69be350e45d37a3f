/** The text of the guided tour: a dozen steps, each with its numbers from the trace. */

import { hasOutput } from "./map.js";
import { count, readable } from "./numbers.js";
import { normText } from "./parts.js";
import { attentions, isRecurrent, numLayers, parsePath, sidesOf } from "./structure.js";
import { range } from "./tensor.js";

/** A traced number for the text. @param {App} app @param {string} name @param {number[]} index @param {number} [digits] @returns {Promise<Words>} */
async function traced(app, name, index, digits = 4) {
	return { value: (await app.tensor(name)).at(index), place: { name, index }, digits };
}

/** @param {App} app */
function side(app) {
	return app.doc.source ? "source" : "target";
}

/** @param {string[]} tokenStrings @param {number} [from] @returns {number} the longest token: likely one with meaning */
function telling(tokenStrings, from = 0) {
	const sizes = tokenStrings.map((tokenString, i) => (i < from ? 0 : tokenString.replace(/^▁|^<.*>$/, "").length));
	return sizes.indexOf(Math.max(...sizes));
}

/** @param {App} app */
function writingStep(app) {
	return telling(
		app.doc.output.map((each) => each.token_string),
		app.numGiven,
	);
}

/** The first attention that is computed. @param {App} app */
function firstPath(app) {
	return attentions(app.doc)[0]?.path ?? "";
}

/** The strongest weight between two different words in the first layer, and its head. @param {App} app */
async function bestPair(app) {
	const path = firstPath(app);
	const tokenStrings = app.doc[side(app)]?.token_strings ?? [];
	const weights = await app.tensor(`${path}.weights`);
	const long = range(tokenStrings.length).filter((i) => /^▁?\p{L}{4,}$/u.test(tokenStrings[i] ?? ""));
	const places = long.length > 1 ? long : range(tokenStrings.length);
	let best = { head: 0, row: 0, column: 0, weight: -1 };
	for (let head = 0; head < weights.length(0); head++) {
		for (const row of places) {
			for (const column of places) {
				const weight = weights.at([head, row, column]);
				if (row !== column && weight > best.weight) best = { head, row, column, weight };
			}
		}
	}
	return { path, ...best, from: readable(tokenStrings[best.row] ?? ""), to: readable(tokenStrings[best.column] ?? "") };
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
const keeps = (last) => (app) => !isRecurrent(app.doc) && app.has(`${firstPath(app)}.${last}`);

/** @type {TourStep[]} */
export const STEPS = [
	{
		title: "A sentence goes in",
		code: "tokens",
		view: () => ({ view: "overview" }),
		tell: async (app) => {
			const { source, target, title } = app.doc;
			const number = source?.token_strings.length ?? (app.numGiven || (target?.token_strings.length ?? 0));
			return [
				`“${title}” is split into ${number} tokens of a vocabulary of fixed size. No word is unknown: a rare word is split into more tokens. `,
				source ? "The number under each token is its index in the vocabulary. The last token marks the end of the sentence." : "",
			];
		},
	},
	{
		title: "Tokens become vectors",
		code: "embedding",
		fits: (app) => app.has(`${side(app)}.embedding`),
		view: (app) => ({ view: "embeddings", [app.doc.source ? "token" : "step"]: telling(app.doc[side(app)]?.token_strings ?? []) }),
		tell: async (app) => {
			const tokenStrings = app.doc[side(app)]?.token_strings ?? [];
			const i = telling(tokenStrings);
			/** @param {number} feature */
			const number = (feature) => traced(app, `${side(app)}.embedding`, [i, feature]);
			return [
				`Each token is replaced by its row of a learned table: ${app.config.d_model} numbers. For “${readable(tokenStrings[i] ?? "")}” they begin with `,
				...[await number(0), ", ", await number(1), ", ", await number(2)],
				". Training has placed tokens with similar uses near one another: see the nearest neighbours.",
			];
		},
	},
	{
		title: "Positions",
		code: "position",
		fits: (app) => app.config.position !== "none",
		view: () => ({ view: "positions" }),
		tell: async (app) => {
			const kind = app.config.position;
			const why = "Attention treats all tokens at once and would not notice if they were shuffled. ";
			if (kind === "rotary") return [why, "So this model turns each query and key by an angle that grows with the position."];
			if (["relative", "alibi"].includes(kind)) return [why, "So this model adds to each score a number for the distance between query and key: these are below."];
			return [
				why,
				"So each position adds its own vector to the embedding there. Position 1 adds ",
				await traced(app, `${side(app)}.position`, [1, 0]),
				` to feature 0${kind === "sinusoidal" ? ": the sine of 1" : ""}. Click any cell; the table below shows why simpler schemes fall short.`,
			];
		},
	},
	{
		title: "Query, key and value",
		code: "query",
		fits: keeps("query"),
		view: (app) => atBestPair(app, "query"),
		tell: async (app) => {
			const { path, head, row, from } = await bestPair(app);
			return [
				`As in a library: a query is what you search for, a key is what a book is found by, a value is its content. Three learned linear maps compute all three from each token. The query of “${from}” in this head begins with `,
				await traced(app, `${path}.query`, [head, row, 0]),
				".",
			];
		},
	},
	{
		title: "Scores and weights",
		code: "scores",
		fits: keeps("scores"),
		view: (app) => atBestPair(app, "scores"),
		tell: async (app) => {
			const { path, head, row, column, from, to } = await bestPair(app);
			/** @param {string} last */
			const number = (last) => traced(app, `${path}.${last}`, [head, row, column]);
			return [
				`“${from}” attends to “${to}”: the dot product of query and key is `,
				await number("scores"),
				". Divided by the square root of the number of features it is ",
				await number("scaled"),
				". The softmax turns the row into weights that sum to 1; this one is ",
				await number("weights"),
				".",
			];
		},
	},
	{
		title: "Many heads",
		code: "concatenated",
		fits: keeps("weights"),
		view: () => ({ view: "heads" }),
		tell: async (app) => [
			`Each layer has ${app.config.num_heads} heads, each with its own maps, so that one can look at other tokens than the next. Their outputs are concatenated and combined by one more linear map. A bright diagonal is a head that attends to the token itself or to its neighbour; a bright column is a token that many others attend to.`,
		],
	},
	{
		title: "Add and norm",
		code: "residual",
		fits: keeps("residual"),
		view: (app) => atBestPair(app, "add-norm"),
		tell: async (app) => {
			const { path, row } = await bestPair(app);
			const isPre = app.config.norm_placement === "pre";
			return [
				"The output of attention is added to its input instead of replacing it, so that deep stacks keep the token's own information. Feature 0 here becomes ",
				await traced(app, `${path}.residual`, [row, 0]),
				`. ${isPre ? "A norm stands before each sub-layer, and one more at the end of the stack; in the paper it comes after each sum." : "Then comes a norm."} ${normText(app)}`,
			];
		},
	},
	{
		title: "Feed-forward network",
		code: "hidden",
		fits: (app) => app.has(firstPath(app).replace("self_attention", "feed_forward.hidden")),
		view: (app) => ({ view: "feed-forward", attention: firstPath(app).replace("self_attention", "feed_forward"), focus: "hidden" }),
		tell: async (app) => [
			`Then a small network, the same for every position, maps ${app.config.d_model} features to ${count(app.config.d_ff)} and back. Between the two, negative features become 0${app.config.feed_forward === "relu" ? "" : " or nearly 0"}. Tokens do not interact here: attention collects information, this network processes it.`,
		],
	},
	{
		title: "More layers, then the memory",
		code: "memory",
		fits: (app) => app.has("memory") && !isRecurrent(app.doc),
		view: () => ({ view: "overview", focus: "memory" }),
		tell: async (app) => [
			`The same two parts again, ${numLayers(app.doc, "encoder")} layers in all, each with its own weights. All tokens are processed at once. The output of the last layer, one vector per token, is the memory${app.doc.target ? " that the decoder reads" : ": the tokens in context"}. Its first number is `,
			await traced(app, "memory", [0, 0]),
			".",
		],
	},
	{
		title: "Masked self-attention",
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
			const { token_strings: tokenStrings } = sidesOf(app.doc, /** @type {SubLayer} */ (parsePath("decoder.layers.0.self_attention"))).rows;
			const last = tokenStrings.length - 1;
			return [
				`The ${app.doc.source ? "second sentence" : "text"} is written one token at a time, and each token attends only to earlier ones. The hatched cells are later tokens: the mask sets them to −∞, so “${readable(tokenStrings[0] ?? "")}” gives “${readable(tokenStrings[last] ?? "")}” a weight of exactly `,
				await traced(app, "decoder.layers.0.self_attention.weights", [0, 0, last], 1),
				". So all steps can be trained at once, and none sees the token it must predict.",
			];
		},
	},
	{
		title: "Cross-attention to the source",
		code: "attention",
		fits: (app) => lastCross(app) !== undefined,
		view: (app) => ({ view: "attention-lines", attention: lastCross(app)?.path ?? "", heads: "layer", unit: "tokens", step: writingStep(app) }),
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
				`To write “${readable(app.doc.output[step]?.token_string ?? "")}”, queries come from the decoder, keys and values from the memory. Head ${best.head + 1} puts `,
				await traced(app, name, [best.head, step, best.column]),
				` of its attention on “${readable(app.doc.source?.token_strings[best.column] ?? "")}”. The model was given no dictionary. Press play: the lines follow the writing.`,
			];
		},
	},
	{
		title: "One vector for the sentence",
		code: "memory",
		fits: (app) => app.isReader,
		view: () => ({ view: "vector" }),
		tell: async () => [
			"One vector made of these stands for the whole sentence. A search compares it with those of passages: write your own below.",
		],
	},
	{
		title: "Filling a blank",
		code: "probabilities",
		fits: (app) => app.isReader && hasOutput(app),
		view: (app) => ({ view: "output", token: telling(app.doc.source?.token_strings ?? []) }),
		tell: async (app) => [
			`For each place the model gives all ${count(app.vocabularySize)} tokens of the vocabulary a probability of standing there. So it can fill a blank.`,
		],
	},
	{
		title: "The next token",
		code: "probabilities",
		fits: (app) => app.writes,
		view: (app) => ({ view: "output", step: writingStep(app), focus: "" }),
		tell: async (app) => {
			const step = writingStep(app);
			const written = app.doc.output[step];
			const rival = written?.top.find((each) => each.token !== written.token);
			/** @param {Candidate | undefined} each @param {string} joint @returns {Words[]} */
			const share = (each, joint) =>
				each
					? [
							`${joint}“${readable(each.token_string)}” gets `,
							{ value: each.probability, place: { name: "probabilities", index: [step, each.token] } },
						]
					: [];
			return [
				"A last linear map gives every token of the vocabulary a score, and a softmax turns the scores into probabilities. ",
				...share(written, ""),
				...share(rival, ", "),
				app.doc.search?.method === "sample"
					? `. The token is drawn from these at random, with a temperature of ${app.doc.search.temperature} that favours the probable ones, and becomes the next input. See the slider below.`
					: ". The chosen token is written and becomes the next input, until the end token is the best choice. Beam search keeps several hypotheses meanwhile: see the tree below.",
			];
		},
	},
	{
		title: "What if?",
		code: "search",
		fits: (app) => app.writes || app.isReader,
		view: () => ({ view: "what-if" }),
		tell: async (app) => [
			`Turn off the head that matters most, remove the positions, ${app.writes ? "force the next word" : "change a word"}: the whole model runs again with your change. Every number on the page is the model's own.`,
		],
	},
];
