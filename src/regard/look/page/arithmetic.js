/** How each number follows from others: `derive` fetches its operands and does the sum again in double precision. */

import { count, readable, show, tokenLabels, wave } from "./numbers.js";
import { Question } from "./question.js";
import { isRecurrent, readBy, reasonHidden, sideOf, squareName, stackOutput, streamInto } from "./structure.js";
import { extent, range, total } from "./tensor.js";

const SHOWN_EXPONENTIALS = 24;

/** @type {Record<string, (question: Question) => Promise<Derivation>>} */
const RULES = {
	async embedding(q) {
		const [position, feature] = q.index;
		const token = q.doc[q.side]?.tokens[position] ?? 0;
		const entry = (await q.fetch(`param:${q.side}.embedding.weight`, token)).at([feature]);
		const squared = q.config.scaled_embedding ? q.config.d_model : 1;
		const sentence = `Feature ${feature} of the learned vector of “${q.doc[q.side]?.token_strings[position]}”, row ${token} of the table.`;
		const lines = [{ text: `table[${token}, ${feature}]`, value: entry }, { text: `times √${squared}`, value: Math.sqrt(squared) }];
		return q.answer(sentence, `embedding = table[token] × √${squared}`, entry * Math.sqrt(squared), { lines });
	},

	async position(q) {
		const { position: kind, d_model: width, max_positions: most } = q.config;
		const [place, feature] = q.index;
		if (kind === "learned") {
			const row = Math.min(place, most - 1);
			const entry = (await q.fetch(`param:${q.side}.position.weight`, row)).at([feature]);
			const lines = [{ text: `table[${row}, ${feature}]`, value: entry }];
			return q.answer(`Feature ${feature} of the vector learned for position ${place}.`, "position = table[position]", entry, { lines });
		}
		if (kind !== "sinusoidal") {
			const whole = kind === "integer" ? 1 : Math.max(1, (q.side === "source" ? (q.doc.source?.token_strings.length ?? 1) : most) - 1);
			const lines = [{ text: `${place} divided by ${whole}`, value: place / whole }];
			return q.answer("The same number for every feature: the position.", `position scheme: ${kind}`, place / whole, { lines });
		}
		const { pair, divisor, angle, value } = wave(place, feature, width);
		const name = feature % 2 ? "cos" : "sin";
		const sentence = "Features come in pairs: even ones take the sine, odd ones the cosine of the same angle.";
		const lines = [
			{ text: `10000^(${pair} / ${width})`, value: divisor },
			{ text: `${place} divided by that`, value: angle },
			{ text: `${name} of that`, value },
		];
		return q.answer(sentence, `${name}(position / 10000^(${pair} / ${width}))`, value, { lines });
	},

	async input(q) {
		const { side } = q;
		if (q.doc.tensors[`${side}.norm`]) return q.same(`${side}.norm`, "The normalised sum of embedding and position.");
		const names = [`${side}.embedding`, `${side}.position`].filter((name) => q.doc.tensors[name]);
		return q.sumOf(names, "The input of the first layer: the embedding plus the vector of the position.", "input = embedding + position");
	},

	norm: deriveNorm,
	final_norm: deriveNorm,
	query: deriveProjection,
	key: deriveProjection,
	value: deriveProjection,

	async scores(q) {
		const [head, row, column] = q.index;
		const shared = Math.floor(head / (q.config.queries_per_key ?? 1));
		const [query, key] = [await q.row(q.beside("query"), head, row), await q.row(q.beside("key"), shared, column)];
		const sentence = "How well this query matches this key: their dot product.";
		return q.products({ sentence, formula: "score = Σ query × key", heads: ["query", "key"], left: query, right: key });
	},

	async scaled(q) {
		const score = await q.line("score", q.beside("scores"));
		const size = (await q.fetch(q.beside("query"))).length(2);
		const sentence = "The score divided by √d_k, so that it does not grow with the number of features.";
		const lines = [score, { text: `divided by √${size}`, value: Math.sqrt(size) }];
		return q.answer(sentence, "scaled = score / √d_k", score.value / Math.sqrt(size), { lines });
	},

	async position_bias(q) {
		const [head, row, column] = q.index;
		const { num_buckets: all, max_distance: most, slopes } = q.config;
		const slope = slopes?.[head];
		if (slope) {
			const steps = Math.abs(column - row);
			const lines = [{ text: "steps", value: steps }, { text: "slope of the head", value: slope }];
			return q.answer("The farther, the less.", "position_bias = −slope × steps", -slope * steps, { lines });
		}
		// An encoder has half of the buckets for each direction; a decoder only looks back.
		const isTwoWay = q.place.name.startsWith("encoder");
		const size = isTwoWay ? Math.floor(all / 2) : all;
		const steps = isTwoWay ? Math.abs(column - row) : Math.max(0, row - column);
		const near = Math.floor(size / 2);
		const far = near + Math.floor((Math.log(steps / near) / Math.log(most / near)) * (size - near));
		const bucket = (isTwoWay && column > row ? size : 0) + (steps < near ? steps : Math.min(far, size - 1));
		const entry = (await q.fetch(`param:${q.place.name}.weight`, bucket)).at([head]);
		const lines = [
			{ text: "steps between them", value: steps },
			{ text: `table[bucket ${bucket}], head ${head + 1}`, value: entry },
		];
		const sentence = `Learned for this distance; from distance ${near} on, several distances share a bucket.`;
		return q.answer(sentence, "position_bias = table[bucket(key − query), head]", entry, { lines });
	},

	async masked(q) {
		const reason = reasonHidden(q.doc, q.subLayer, q.index[1], q.index[2], q.traced);
		const before = q.beside("scaled") in q.doc.tensors ? "scaled" : "energies";
		const lines = [await q.line(before, q.beside(before))];
		const bias = squareName(q.subLayer, "position_bias");
		const near = bias in q.doc.tensors ? " + bias" : "";
		if (near) lines.push(await q.line("plus the bias", bias));
		if (reason) lines.push({ text: "plus the mask", value: -Infinity, place: q.place });
		const sentence = reason ? `Hidden. ${reason}.` : "This key is visible, so the mask adds 0.";
		const result = total(lines.map((line) => line.value));
		return q.answer(sentence, `masked = ${before}${near} + mask (0 or −∞)`, result, { lines });
	},

	async weights(q) {
		const [head, row, column] = q.index;
		const masked = await q.row(q.beside("masked"), head, row);
		const largest = Math.max(...Array.from(masked.values));
		const terms = Array.from(masked.values, (value, j) => ({
			label: q.key(j),
			operands: [{ value, place: masked.place?.(j) }],
			result: Math.exp(value - largest),
		}));
		const sum = total(terms.map((term) => term.result));
		const sentence = "The attention weight of this key: the weights of a row are positive and sum to 1.";
		const lines = [{ text: "largest of the row", value: largest }];
		return q.softmax({ sentence, x: "masked", what: "key", terms, own: terms[column]?.result ?? NaN, sum, lines });
	},

	async context(q) {
		const [head, row, feature] = q.index;
		const name = q.beside("value");
		const values = await q.fetch(name);
		const shared = Math.floor(head / (q.config.queries_per_key ?? 1));
		/** @type {Factor} */
		const right = {
			values: range(values.length(1)).map((j) => values.at([shared, j, feature])),
			place: (j) => ({ name, index: [shared, j, feature] }),
		};
		const sentence = `Feature ${feature} of the context: the values, weighted by attention and added up.`;
		const left = await q.row(q.beside("weights"), head, row);
		const formula = "context = Σ weight × value";
		return q.products({ sentence, formula, heads: ["weight", "value"], left, right, what: "key", label: q.key });
	},

	async concatenated(q) {
		const [position, column] = q.index;
		const size = (await q.fetch(q.beside("context"))).length(2);
		const [head, feature] = [Math.floor(column / size), column % size];
		const sentence = `Head ${head + 1}'s feature ${feature}: the heads are concatenated.`;
		return q.same(q.beside("context"), sentence, [head, position, feature]);
	},

	async output(q) {
		const isAttention = q.subLayer.kind !== "feed_forward";
		const input = isAttention ? "concatenated" : "activated";
		const sentence = isAttention
			? `Feature ${q.index[1]}: the features of all heads, combined by the learned W_O.`
			: `Feature ${q.index[1]}: the ${q.config.d_ff} hidden features, back to the model's width.`;
		const [position, column] = q.index;
		return q.linear({ sentence, x: input, matrix: isAttention ? "W_O" : "W_2", input: q.beside(input), position, column });
	},

	async residual(q) {
		const names = [streamInto(q.doc, q.subLayer), q.beside("output")];
		return q.sumOf(names, "The input of the sub-layer plus its output.", "residual = x + SubLayer(x)");
	},

	hidden: deriveHidden,
	gate: deriveHidden,

	async activated(q) {
		const kind = q.config.feed_forward.replace("gated-", "");
		/** @type {Line[]} */
		const lines = [await q.line("hidden", q.beside("hidden"))];
		const x = lines[0]?.value ?? NaN;
		const z = kind === "silu" ? x : 1.5957691216 * (x + 0.044715 * x ** 3);
		let result = kind === "relu" ? Math.max(0, x) : x * (kind === "gelu" ? normalShare(x) : 1 / (1 + Math.exp(-z)));
		lines.push({ text: `${kind} of it`, value: result });
		if (q.beside("gate") in q.doc.tensors) {
			const gate = await q.line("times the gate", q.beside("gate"));
			lines.push(gate);
			result *= gate.value;
		}
		const sentence = kind === "relu" ? "Negative numbers become 0, positive ones stay." : "Positive numbers pass.";
		const formula = kind === "relu" ? "activated = max(0, hidden)" : `activated = ${kind}(hidden)`;
		return q.answer(sentence, formula, result, { lines });
	},

	async memory(q) {
		return q.same(stackOutput(q.doc, "encoder"), `The output of the last encoder layer${q.doc.target ? ", which the decoder reads" : ""}.`);
	},

	async logits(q) {
		const [position, token] = q.index;
		const last = q.doc.target ? "decoder" : "encoder";
		const hidden = "transform.norm" in q.doc.tensors ? "transform.norm" : stackOutput(q.doc, last);
		const bias = (await q.bias("output"))?.[token];
		const right = { values: (await q.fetch("param:output.weight", token)).data };
		const sentence = `The score of vocabulary entry ${token}.`;
		const formula = "logit = hidden · E, one column an entry";
		return q.products({ sentence, formula, heads: ["hidden", "E"], left: await q.row(hidden, position), right, bias });
	},

	async probabilities(q) {
		const [position, token] = q.index;
		const logits = (await q.fetch("logits")).row(position);
		const [, largest] = extent(logits);
		const exponentials = Array.from(logits, (value) => Math.exp(value - largest));
		const best = Array.from(logits.keys()).sort((a, b) => (logits[b] ?? 0) - (logits[a] ?? 0));
		const shown = new Set([...best.slice(0, SHOWN_EXPONENTIALS), token]);
		const names = new Map(q.doc.output[position]?.top.map((each) => [each.token, readable(each.token_string)]));
		const terms = Array.from(shown, (entry) => ({
			label: names.get(entry) ?? `entry ${entry}`,
			operands: [{ value: logits[entry] ?? NaN, place: { name: "logits", index: [position, entry] } }],
			result: exponentials[entry] ?? NaN,
		}));
		const sum = total(exponentials);
		const lines = [
			{ text: "largest logit", value: largest },
			{
				text: `the other ${count(logits.length - terms.length)} exponentials together`,
				value: sum - total(terms.map((term) => term.result)),
			},
		];
		const sentence = `The probability of one token among all ${count(logits.length)} of the vocabulary.`;
		return q.softmax({ sentence, x: "logit", what: "token", terms, own: exponentials[token] ?? NaN, sum, lines });
	},
};

/** @param {Doc} doc @param {string} name */
export function canDerive(doc, name) {
	// A recurrent model computes these otherwise.
	const isOther = isRecurrent(doc) && /^mem|^decoder.*(query|key|context|hidden|output)$/.test(name);
	return name.slice(name.lastIndexOf(".") + 1) in RULES && name in doc.tensors && !isOther;
}

/** @param {Doc} doc @param {Fetch} fetch @param {Place} place */
export async function derive(doc, fetch, place) {
	const traced = (await fetch(place.name)).at(place.index);
	const question = new Question(doc, fetch, place, traced);
	const rule = canDerive(doc, place.name) && RULES[question.last];
	return rule ? rule(question) : question.answer(`${place.name} is not taken apart.`, "", traced);
}

/** @param {Question} q */
async function deriveNorm(q) {
	const { norm, norm_epsilon: epsilon } = q.config;
	const isRms = norm === "rms";
	const isBatch = norm === "batch";
	const [position, feature] = q.index;
	const { name } = q.place;
	let input = "";
	if (q.last === "final_norm") {
		const { [name]: _, ...others } = q.doc.tensors;
		input = stackOutput({ ...q.doc, tensors: others }, name.startsWith("encoder") ? "encoder" : "decoder");
	} else if (q.part) input = q.config.norm_placement === "pre" ? streamInto(q.doc, q.part) : q.beside("residual");
	else if (name === "transform.norm") input = q.beside("activated");
	else input = q.beside("embedding");
	const row = Array.from((await q.fetch(input)).row(position));
	// What enters the first layer is the norm of a sum.
	const added = input === q.beside("embedding") && q.beside("position") in q.doc.tensors && (await q.fetch(q.beside("position")));
	if (added) added.row(position).forEach((value, j) => (row[j] = (row[j] ?? NaN) + value));
	/** @param {number} j */
	const place = (j) => (added ? undefined : { name: input, index: [position, j] });
	const gain = (await q.fetch(`param:${name}.weight`)).at([feature]);
	const bias = (await q.bias(name))?.[feature];
	/** What training has seen of this feature. @param {string} what */
	const running = async (what) => (await q.fetch(`param:${name}.running_${what}`)).at([feature]);
	const mean = isRms ? 0 : isBatch ? await running("mean") : total(row) / row.length;
	const terms = Array.from(isBatch ? [] : row, (value, j) => ({
		label: String(j),
		operands: [{ value, place: place(j) }],
		result: (value - mean) ** 2,
	}));
	const variance = isBatch ? await running("variance") : total(terms.map((term) => term.result)) / row.length;
	const normal = ((row[feature] ?? NaN) - mean) / Math.sqrt(variance + epsilon);
	const lines = [
		...(isRms ? [] : [{ text: "mean", value: mean }]),
		{ text: isRms ? "mean of the squares" : "variance", value: variance },
		{ text: `x at feature ${feature}`, value: row[feature] ?? NaN, place: place(feature) },
		{ text: "normalised", value: normal },
		{ text: "times gain", value: gain },
		...(bias === undefined ? [] : [{ text: "plus bias", value: bias }]),
	];
	const against = isBatch ? "what this feature was in training" : `that position's own ${row.length} features`;
	const sentence = `Feature ${feature} of one position, normalised by ${against}.`;
	const formula = isRms ? `gain × x / √(mean of x² + ${epsilon})` : `gain × (x − mean) / √(variance + ${epsilon}) + bias`;
	const columns = ["feature", "x", isRms ? "x²" : "(x − mean)²"];
	return q.answer(sentence, formula, normal * gain + (bias ?? 0), { columns, terms, lines });
}

/** @param {Question} q */
async function deriveProjection(q) {
	const map = /** @type {"query" | "key" | "value"} */ (q.last);
	const [head, position, feature] = q.index;
	const size = q.doc.tensors[q.place.name]?.shape[2] ?? 1;
	const column = head * size + feature;
	if (q.config.query_key_norm && map !== "value") return q.answer("A projection, normalised within its head, then turned.", "", q.traced);
	const input = readBy(q.doc, q.subLayer, map);
	const sentence = `Feature ${feature} of the ${map} of head ${head + 1} for “${tokenLabels(sideOf(q.doc, q.place.name))[position]}”.`;
	const matrix = `W_${map[0]?.toUpperCase()}`;
	const answer = await q.linear({ sentence, matrix, input, position, column });
	const turns = q.config.position === "rotary" && map !== "value" && q.subLayer.kind === "self_attention";
	if (!turns) return answer;
	const other = column + (feature % 2 ? -1 : 1);
	const partner = (await q.linear({ sentence, matrix, input, position, column: other })).result;
	const angle = position * (q.config.rotary_frequencies?.[Math.floor(feature / 2)] ?? 0);
	const turned = answer.result * Math.cos(angle) + (feature % 2 ? 1 : -1) * partner * Math.sin(angle);
	answer.lines.push(
		{ text: "before the rotation", value: answer.result },
		{ text: "its partner feature", value: partner },
		{ text: "angle of this position", value: angle },
		{ text: `this · cos ${feature % 2 ? "+" : "−"} partner · sin`, value: turned },
	);
	return { ...answer, result: turned };
}

/** @param {Question} q */
async function deriveHidden(q) {
	const map = q.last === "gate" ? "gate" : "hidden";
	const sentence = `Hidden feature ${q.index[1]} of “${tokenLabels(sideOf(q.doc, q.place.name))[q.index[0]]}”: the same map at every position.`;
	const [position, column] = q.index;
	const input = q.part ? readBy(q.doc, q.part, map) : stackOutput(q.doc, "encoder");
	return q.linear({ sentence, matrix: map === "gate" ? "W_gate" : "W_1", input, position, column });
}

/** The share of a normal distribution below x, by its series: the Φ of GELU(x) = x Φ(x). @param {number} x */
function normalShare(x) {
	if (Math.abs(x) > 8) return x > 0 ? 1 : 0;
	let [term, sum] = [x, x];
	for (let n = 3; Math.abs(term) > 1e-17; n += 2) sum += term *= (x * x) / n;
	return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

/** Whether the model's number agrees with the sum done again. @param {Derivation} derivation */
export function agreement({ traced, result }) {
	if (traced === result) return "equal to the last digit";
	const gap = Math.abs(traced - result);
	if (gap > 1e-3 * Math.max(1, Math.abs(traced))) return `differs by ${show(gap, 4)}: a what-if has changed this value`;
	return `differs by ${show(gap, 2)}: the model adds in single precision`;
}
