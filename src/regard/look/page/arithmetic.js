/**
 * How each number of the trace follows from others. `derive` names the operands of one number, fetches them
 * and does the sum again in double precision, so that a reader can check it term by term.
 */

import { parsePath, readBy, reasonHidden, stackOutput, streamInto } from "./anatomy.js";
import { count, readable, show } from "./numbers.js";
import { total } from "./tensor.js";

/** @import { SubLayer } from "./anatomy.js" */
/** @import { Tensor } from "./tensor.js" */
/** @import { Place, RunDocument } from "./types.js" */
/** @typedef {(name: string, row?: number) => Promise<Tensor>} Fetch */

/** @typedef {{value: number, place?: Place}} Operand */
/** @typedef {{label: string, operands: Operand[], result: number}} Term */
/** @typedef {{text: string, value: number, place?: Place}} Line */

/**
 * @typedef {object} Derivation
 * @property {Place} place
 * @property {number} traced the value the model computed
 * @property {string} sentence what it is, in words
 * @property {string} formula
 * @property {string[]} columns heads of the terms' operands and of their result
 * @property {Term[]} terms
 * @property {Line[]} lines from the terms to the result
 * @property {number} result the same value, computed again here
 */

const EPSILON = 1e-5;
const BASE = 10000;
const SHOWN_EXPONENTIALS = 24;

/** One number being taken apart: what every rule below needs. */
class Question {
	/** @param {RunDocument} doc @param {Fetch} fetch @param {Place} place @param {number} traced */
	constructor(doc, fetch, place, traced) {
		this.doc = doc;
		this.fetch = fetch;
		this.place = place;
		this.name = place.name;
		this.index = place.index;
		this.traced = traced;
		this.last = place.name.slice(place.name.lastIndexOf(".") + 1);
		this.part = parsePath(place.name);
	}

	/** @param {number} axis */
	at(axis) {
		return this.index[axis] ?? 0;
	}

	/** @returns {SubLayer} */
	get subLayer() {
		if (!this.part) throw new Error(`${this.name} is in no sub-layer`);
		return this.part;
	}

	/** The paths of operands inside the same sub-layer. @param {string} name */
	beside(name) {
		return `${this.subLayer.path}.${name}`;
	}

	/** @param {Partial<Derivation> & {sentence: string, formula: string, result: number}} found */
	answer(found) {
		return { place: this.place, traced: this.traced, columns: [], terms: [], lines: [], ...found };
	}
}

/** @type {Record<string, (question: Question) => Promise<Derivation>>} */
const RULES = {
	embedding: deriveEmbedding,
	position: derivePosition,
	input: deriveInput,
	norm: deriveNorm,
	final_norm: deriveNorm,
	query: deriveProjection,
	key: deriveProjection,
	value: deriveProjection,
	scores: deriveScore,
	scaled: deriveScaled,
	masked: deriveMasked,
	weights: deriveWeight,
	context: deriveContext,
	concatenated: deriveConcatenated,
	output: deriveOutput,
	residual: deriveResidual,
	hidden: deriveHidden,
	gate: deriveHidden,
	activated: deriveActivated,
	memory: deriveMemory,
	logits: deriveLogit,
	probabilities: deriveProbability,
};

/** @param {RunDocument} doc @param {string} name */
export function canDerive(doc, name) {
	return name.slice(name.lastIndexOf(".") + 1) in RULES && name in doc.tensors;
}

/** @param {RunDocument} doc @param {Fetch} fetch @param {Place} place */
export async function derive(doc, fetch, place) {
	const traced = (await fetch(place.name)).at(place.index);
	const question = new Question(doc, fetch, place, traced);
	const rule = RULES[question.last];
	if (!rule) {
		return question.answer({ sentence: `${place.name} is given, not computed.`, formula: "", result: traced });
	}
	return rule(question);
}

/**
 * A sum of products, with an optional bias: every linear map of the model.
 * @param {Question} question
 * @param {object} parts
 * @param {string} parts.sentence
 * @param {string} parts.formula
 * @param {[string, string]} parts.heads
 * @param {(j: number) => string} parts.label
 * @param {ArrayLike<number>} parts.left
 * @param {ArrayLike<number>} parts.right
 * @param {(j: number) => Place} [parts.leftPlace]
 * @param {(j: number) => Place} [parts.rightPlace]
 * @param {number} [parts.bias]
 */
function sumOfProducts(question, parts) {
	/** @type {Term[]} */
	const terms = Array.from(parts.left, (left, j) => {
		const right = parts.right[j] ?? NaN;
		return {
			label: parts.label(j),
			operands: [
				{ value: left, place: parts.leftPlace?.(j) },
				{ value: right, place: parts.rightPlace?.(j) },
			],
			result: left * right,
		};
	});
	const sum = total(terms.map((term) => term.result));
	/** @type {Line[]} */
	const lines = [{ text: `sum of the ${terms.length} products`, value: sum }];
	if (parts.bias !== undefined) lines.push({ text: "plus the bias", value: parts.bias });
	return question.answer({
		sentence: parts.sentence,
		formula: parts.formula,
		columns: [...parts.heads, "product"],
		terms,
		lines,
		result: sum + (parts.bias ?? 0),
	});
}

/** @param {Question} q */
async function deriveEmbedding(q) {
	const side = q.name.startsWith("source") ? "source" : "target";
	const token = q.doc[side]?.tokens[q.at(0)] ?? 0;
	const entry = (await q.fetch(`param:${side}.embedding.weight`, token)).at([q.at(1)]);
	const scale = Math.sqrt(q.doc.model.config.d_model);
	return q.answer({
		sentence: `Feature ${q.at(1)} of the learned vector of “${q.doc[side]?.pieces[q.at(0)]}”, row ${token} of the table.`,
		formula: "embedding = table[token] × √d_model",
		lines: [
			{ text: `table[${token}, ${q.at(1)}]`, value: entry },
			{ text: `times √${q.doc.model.config.d_model}`, value: scale },
		],
		result: entry * scale,
	});
}

/** @param {Question} q */
async function derivePosition(q) {
	const { position: kind, d_model: width } = q.doc.model.config;
	const [place, feature] = [q.at(0), q.at(1)];
	if (kind !== "sinusoidal") {
		const sentence = `What position ${place} adds to feature ${feature} (position = ${kind}).`;
		return q.answer({ sentence, formula: `position kind: ${kind}`, result: q.traced });
	}
	const pair = feature - (feature % 2);
	const wave = feature % 2 ? "cos" : "sin";
	const divisor = BASE ** (pair / width);
	const angle = place / divisor;
	return q.answer({
		sentence: `Position ${place}, feature ${feature}: features come in pairs, ${wave === "sin" ? "even ones take the sine" : "odd ones take the cosine"}.`,
		formula: `${wave}(position / 10000^(${pair} / ${width}))`,
		lines: [
			{ text: `10000^(${pair} / ${width})`, value: divisor },
			{ text: `${place} divided by that`, value: angle },
			{ text: `${wave} of that`, value: wave === "sin" ? Math.sin(angle) : Math.cos(angle) },
		],
		result: wave === "sin" ? Math.sin(angle) : Math.cos(angle),
	});
}

/** @param {Question} q */
async function deriveInput(q) {
	const side = q.name.slice(0, q.name.indexOf("."));
	if (q.doc.tensors[`${side}.norm`]) {
		const value = (await q.fetch(`${side}.norm`)).at(q.index);
		return same(q, `${side}.norm`, value, "The normalised sum of embedding and position.");
	}
	const names = [`${side}.embedding`, `${side}.position`].filter((name) => q.doc.tensors[name]);
	return addends(
		q,
		names,
		"What enters the first layer: the word's vector plus its position's.",
		"input = embedding + position",
	);
}

/** @param {Question} q @param {string[]} names @param {string} sentence @param {string} formula */
async function addends(q, names, sentence, formula) {
	const tensors = await Promise.all(names.map((name) => q.fetch(name)));
	const lines = tensors.map((tensor, i) => ({
		text: names[i] ?? "",
		value: tensor.at(q.index),
		place: { name: names[i] ?? "", index: q.index },
	}));
	return q.answer({ sentence, formula, lines, result: total(lines.map((line) => line.value)) });
}

/** @param {Question} q @param {string} name @param {number} value @param {string} sentence @param {number[]} [index] */
function same(q, name, value, sentence, index = q.index) {
	const lines = [{ text: name, value, place: { name, index } }];
	return q.answer({ sentence, formula: `${q.last} = ${name}`, lines, result: value });
}

/** @param {Question} q */
async function deriveNorm(q) {
	const isPre = q.doc.model.config.norm_placement === "pre";
	const isRms = q.doc.model.config.norm === "rms";
	let input;
	if (q.last === "final_norm") {
		const stack = q.name.startsWith("encoder") ? "encoder" : "decoder";
		input = stackOutput({ ...q.doc, tensors: without(q.doc.tensors, q.name) }, stack);
	} else if (q.part) input = isPre ? streamInto(q.doc, q.part) : q.beside("residual");
	else {
		const sentence = "The normalised sum of embedding and position; the sum itself is not kept apart.";
		return q.answer({ sentence, formula: "LayerNorm(embedding + position)", result: q.traced });
	}
	const row = (await q.fetch(input)).row(q.at(0));
	const path = q.last === "final_norm" ? q.name : q.beside("norm");
	const gain = (await q.fetch(`param:${path}.weight`)).at([q.at(1)]);
	const hasBias = `${path}.bias` in q.doc.parameters;
	const bias = hasBias ? (await q.fetch(`param:${path}.bias`)).at([q.at(1)]) : 0;
	const mean = isRms ? 0 : total(row) / row.length;
	const terms = Array.from(row, (value, j) => ({
		label: String(j),
		operands: [{ value, place: { name: input, index: [q.at(0), j] } }],
		result: (value - mean) ** 2,
	}));
	const variance = total(terms.map((term) => term.result)) / row.length;
	const centred = (row[q.at(1)] ?? NaN) - mean;
	const normal = centred / Math.sqrt(variance + EPSILON);
	return q.answer({
		sentence: `Feature ${q.at(1)} of one position, measured against that position's own ${row.length} features.`,
		formula: isRms ? "gain × x / √(mean of x² + 0.00001)" : "gain × (x − mean) / √(variance + 0.00001) + bias",
		columns: ["x", isRms ? "x²" : "(x − mean)²"],
		terms,
		lines: [
			...(isRms ? [] : [{ text: "mean", value: mean }]),
			{ text: isRms ? "mean of the squares" : "variance", value: variance },
			{ text: `x at feature ${q.at(1)}`, value: row[q.at(1)] ?? NaN, place: { name: input, index: q.index } },
			{ text: "normalised", value: normal },
			{ text: "times gain", value: gain },
			...(hasBias ? [{ text: "plus bias", value: bias }] : []),
		],
		result: normal * gain + bias,
	});
}

/** @param {RunDocument["tensors"]} tensors @param {string} name */
function without(tensors, name) {
	const { [name]: _, ...others } = tensors;
	return others;
}

/** @param {Question} q */
async function deriveProjection(q) {
	const map = /** @type {"query" | "key" | "value"} */ (q.last);
	const [head, position, feature] = [q.at(0), q.at(1), q.at(2)];
	const size = q.doc.model.config.d_model / q.doc.model.config.num_heads;
	const input = readBy(q.doc, q.subLayer, map);
	const x = (await q.fetch(input)).row(position);
	const letter = map[0]?.toUpperCase() ?? "";
	const turns = q.doc.model.config.position === "rotary" && map !== "value" && q.subLayer.kind === "self_attention";
	const column = head * size + feature;
	const weights = await q.fetch(`param:${q.beside(map)}.weight`);
	const bias = await optionalBias(q, q.beside(map));
	const answer = sumOfProducts(q, {
		sentence: `Feature ${feature} of the ${map} that head ${head + 1} makes of position ${position}.`,
		formula: `${map} = x · W_${letter} + bias, column ${column}`,
		heads: ["x", `W_${letter}`],
		label: String,
		left: x,
		right: weights.row(column),
		leftPlace: (j) => ({ name: input, index: [position, j] }),
		bias: bias?.[column],
	});
	if (!turns) return answer;
	const other = column + (feature % 2 ? -1 : 1);
	const partner = total(Array.from(x, (value, j) => value * (weights.row(other)[j] ?? 0))) + (bias?.[other] ?? 0);
	const angle = position / BASE ** ((feature - (feature % 2)) / size);
	const turned = answer.result * Math.cos(angle) + (feature % 2 ? 1 : -1) * partner * Math.sin(angle);
	answer.lines.push(
		{ text: "before the rotation", value: answer.result },
		{ text: "its partner feature", value: partner },
		{ text: "angle of this position", value: angle },
		{ text: feature % 2 ? "this · cos + partner · sin" : "this · cos − partner · sin", value: turned },
	);
	answer.result = turned;
	return answer;
}

/** @param {Question} q @param {string} path @returns {Promise<Float32Array | undefined>} */
async function optionalBias(q, path) {
	return `${path}.bias` in q.doc.parameters ? (await q.fetch(`param:${path}.bias`)).data : undefined;
}

/** @param {Question} q */
async function deriveScore(q) {
	const [head, row, column] = [q.at(0), q.at(1), q.at(2)];
	const [query, key] = await Promise.all([q.fetch(q.beside("query")), q.fetch(q.beside("key"))]);
	return sumOfProducts(q, {
		sentence: "How well this query matches this key: their dot product.",
		formula: "score = Σ query × key",
		heads: ["query", "key"],
		label: String,
		left: query.row(head, row),
		right: key.row(head, column),
		leftPlace: (j) => ({ name: q.beside("query"), index: [head, row, j] }),
		rightPlace: (j) => ({ name: q.beside("key"), index: [head, column, j] }),
	});
}

/** @param {Question} q */
async function deriveScaled(q) {
	const score = (await q.fetch(q.beside("scores"))).at(q.index);
	const size = (await q.fetch(q.beside("query"))).length(2);
	return q.answer({
		sentence: "The score, made smaller so that its size does not grow with the number of features.",
		formula: "scaled = score / √d_k",
		lines: [
			{ text: "score", value: score, place: { name: q.beside("scores"), index: q.index } },
			{ text: `divided by √${size}`, value: Math.sqrt(size) },
		],
		result: score / Math.sqrt(size),
	});
}

/** @param {Question} q */
async function deriveMasked(q) {
	const scaled = (await q.fetch(q.beside("scaled"))).at(q.index);
	const reason = reasonHidden(q.doc, q.subLayer, q.at(1), q.at(2), q.traced);
	const lines = [{ text: "scaled score", value: scaled, place: { name: q.beside("scaled"), index: q.index } }];
	if (q.beside("position_bias") in q.doc.tensors) {
		const bias = (await q.fetch(q.beside("position_bias"))).at(q.index);
		lines.push({ text: "plus position bias", value: bias, place: { name: q.beside("position_bias"), index: q.index } });
	}
	if (reason) lines.push({ text: "plus the mask", value: -Infinity, place: q.place });
	return q.answer({
		sentence: reason ? `Hidden. ${reason}.` : "This key may be seen, so the mask adds 0.",
		formula: "masked = scaled + mask, where the mask is 0 or −∞",
		lines,
		result: total(lines.map((line) => line.value)),
	});
}

/** @param {Question} q */
async function deriveWeight(q) {
	const masked = (await q.fetch(q.beside("masked"))).row(q.at(0), q.at(1));
	const side = q.subLayer.kind === "cross_attention" || q.subLayer.stack === "encoder" ? q.doc.source : q.doc.target;
	const largest = masked.reduce((most, value) => Math.max(most, value), -Infinity);
	const terms = Array.from(masked, (value, j) => ({
		label: readable(side?.pieces[j] ?? String(j)),
		operands: [{ value, place: { name: q.beside("masked"), index: [q.at(0), q.at(1), j] } }],
		result: Math.exp(value - largest),
	}));
	const sum = total(terms.map((term) => term.result));
	const own = terms[q.at(2)]?.result ?? NaN;
	return q.answer({
		sentence: "The share of attention this key gets: all shares of a row are positive and sum to one.",
		formula: "weight = exp(masked − largest) / Σ exp(masked − largest)",
		columns: ["masked", "exp(masked − largest)"],
		terms,
		lines: [
			{ text: "largest of the row", value: largest },
			{ text: "this key's exponential", value: own },
			{ text: "sum of all exponentials", value: sum },
		],
		result: own / sum,
	});
}

/** @param {Question} q */
async function deriveContext(q) {
	const [head, row, feature] = [q.at(0), q.at(1), q.at(2)];
	const [weights, values] = await Promise.all([q.fetch(q.beside("weights")), q.fetch(q.beside("value"))]);
	const side = q.subLayer.kind === "cross_attention" || q.subLayer.stack === "encoder" ? q.doc.source : q.doc.target;
	return sumOfProducts(q, {
		sentence: `Feature ${feature} of the mixture: each word's value, taken by its weight.`,
		formula: "context = Σ weight × value",
		heads: ["weight", "value"],
		label: (j) => readable(side?.pieces[j] ?? String(j)),
		left: weights.row(head, row),
		right: Array.from({ length: values.length(1) }, (_, j) => values.at([head, j, feature])),
		leftPlace: (j) => ({ name: q.beside("weights"), index: [head, row, j] }),
		rightPlace: (j) => ({ name: q.beside("value"), index: [head, j, feature] }),
	});
}

/** @param {Question} q */
async function deriveConcatenated(q) {
	const context = await q.fetch(q.beside("context"));
	const size = context.length(2);
	const index = [Math.floor(q.at(1) / size), q.at(0), q.at(1) % size];
	const sentence = `Head ${(index[0] ?? 0) + 1}'s feature ${index[2]}: the heads are laid side by side.`;
	return same(q, q.beside("context"), context.at(index), sentence, index);
}

/** @param {Question} q */
async function deriveOutput(q) {
	const isAttention = q.subLayer.kind !== "feed_forward";
	const input = q.beside(isAttention ? "concatenated" : "activated");
	const x = (await q.fetch(input)).row(q.at(0));
	const weights = await q.fetch(`param:${q.beside("output")}.weight`);
	const matrix = isAttention ? "W_O" : "W_2";
	return sumOfProducts(q, {
		sentence: isAttention
			? `Feature ${q.at(1)}: every head has a say, mixed by the learned W_O.`
			: `Feature ${q.at(1)}: the ${x.length} hidden features, back to the model's width.`,
		formula: `output = ${isAttention ? "concatenated" : "activated"} · ${matrix} + bias`,
		heads: [isAttention ? "concatenated" : "activated", matrix],
		label: String,
		left: x,
		right: weights.row(q.at(1)),
		leftPlace: (j) => ({ name: input, index: [q.at(0), j] }),
		bias: (await optionalBias(q, q.beside("output")))?.[q.at(1)],
	});
}

/** @param {Question} q */
async function deriveResidual(q) {
	const names = [streamInto(q.doc, q.subLayer), q.beside("output")];
	return addends(q, names, "What came in, plus what this sub-layer has to say about it.", "residual = x + SubLayer(x)");
}

/** @param {Question} q */
async function deriveHidden(q) {
	const map = q.last === "gate" ? "gate" : "hidden";
	const input = readBy(q.doc, q.subLayer, map);
	const weights = await q.fetch(`param:${q.beside(map)}.weight`);
	return sumOfProducts(q, {
		sentence: `Hidden feature ${q.at(1)} of position ${q.at(0)}: the same map at every position.`,
		formula: `${map} = x · W_1 + bias`,
		heads: ["x", "W_1"],
		label: String,
		left: (await q.fetch(input)).row(q.at(0)),
		right: weights.row(q.at(1)),
		leftPlace: (j) => ({ name: input, index: [q.at(0), j] }),
		bias: (await optionalBias(q, q.beside(map)))?.[q.at(1)],
	});
}

/** @param {Question} q */
async function deriveActivated(q) {
	const kind = q.doc.model.config.feed_forward.replace("gated-", "");
	const hidden = (await q.fetch(q.beside("hidden"))).at(q.index);
	/** @type {Line[]} */
	const lines = [{ text: "hidden", value: hidden, place: { name: q.beside("hidden"), index: q.index } }];
	let result =
		kind === "relu"
			? Math.max(0, hidden)
			: kind === "silu"
				? hidden / (1 + Math.exp(-hidden))
				: hidden * normalShare(hidden);
	lines.push({ text: `${kind} of it`, value: result });
	if (q.beside("gate") in q.doc.tensors) {
		const gate = (await q.fetch(q.beside("gate"))).at(q.index);
		lines.push({ text: "times the gate", value: gate, place: { name: q.beside("gate"), index: q.index } });
		result *= gate;
	}
	const sentence =
		kind === "relu"
			? "Negative numbers become 0, positive ones stay: a feature is on or off."
			: `The ${kind} lets positive numbers through.`;
	const formula = kind === "relu" ? "activated = max(0, hidden)" : `activated = ${kind}(hidden)`;
	return q.answer({ sentence, formula, lines, result });
}

/**
 * The share of a normal distribution below x, by its series: the Φ of GELU(x) = x Φ(x).
 * @param {number} x
 */
function normalShare(x) {
	if (Math.abs(x) > 8) return x > 0 ? 1 : 0;
	let term = x;
	let sum = x;
	for (let n = 1; Math.abs(term) > 1e-17; n++) {
		term *= (x * x) / (2 * n + 1);
		sum += term;
	}
	return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

/** @param {Question} q */
async function deriveMemory(q) {
	const name = stackOutput(q.doc, "encoder");
	const value = (await q.fetch(name)).at(q.index);
	return same(q, name, value, "What the encoder hands to the decoder: its last layer's output.");
}

/** @param {Question} q */
async function deriveLogit(q) {
	const { doc } = q;
	const stack = doc.target ? "decoder" : "encoder";
	const input = stackOutput(doc, stack);
	const table = doc.parameters["output.weight"]
		? "output.weight"
		: `${doc.target ? "target" : "source"}.embedding.weight`;
	return sumOfProducts(q, {
		sentence: `The score of vocabulary entry ${q.at(1)} as the next piece.`,
		formula: "logit = hidden · E, one column of E for each entry",
		heads: ["hidden", "E"],
		label: String,
		left: (await q.fetch(input)).row(q.at(0)),
		right: (await q.fetch(`param:${table}`, q.at(1))).data,
		leftPlace: (j) => ({ name: input, index: [q.at(0), j] }),
	});
}

/** @param {Question} q */
async function deriveProbability(q) {
	const logits = (await q.fetch("logits")).row(q.at(0));
	const largest = logits.reduce((most, value) => Math.max(most, value), -Infinity);
	const exponentials = Array.from(logits, (value) => Math.exp(value - largest));
	const order = Array.from(logits.keys()).sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0));
	const shown = order.slice(0, SHOWN_EXPONENTIALS);
	if (!shown.includes(q.at(1))) shown.push(q.at(1));
	const names = new Map((q.doc.output[q.at(0)]?.top ?? []).map((each) => [each.token, each.piece]));
	const terms = shown.map((token) => ({
		label: names.has(token) ? readable(names.get(token) ?? "") : `entry ${token}`,
		operands: [{ value: logits[token] ?? NaN, place: { name: "logits", index: [q.at(0), token] } }],
		result: exponentials[token] ?? NaN,
	}));
	const sum = total(exponentials);
	const rest = sum - total(terms.map((term) => term.result));
	const own = exponentials[q.at(1)] ?? NaN;
	return q.answer({
		sentence: `The probability of one piece among all ${count(logits.length)} of the vocabulary.`,
		formula: "probability = exp(logit − largest) / Σ exp(logit − largest)",
		columns: ["logit", "exp(logit − largest)"],
		terms,
		lines: [
			{ text: "largest logit", value: largest },
			{ text: `the other ${count(logits.length - terms.length)} exponentials together`, value: rest },
			{ text: "sum of all exponentials", value: sum },
			{ text: "this piece's exponential", value: own },
		],
		result: own / sum,
	});
}

/**
 * Whether a sum done again in double precision agrees with what the model computed in single precision.
 * @param {Derivation} derivation
 */
export function agreement({ traced, result }) {
	if (traced === result) return "equal to the last digit";
	if (Math.abs(traced - result) > 1e-3 * Math.max(1, Math.abs(traced))) {
		return `differs by ${show(Math.abs(traced - result), 4)}: a what-if has changed this value`;
	}
	return `differs by ${show(Math.abs(traced - result), 2)}: the model adds in single precision`;
}
