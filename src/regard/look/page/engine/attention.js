/**
 * Scaled dot-product attention and multi-head attention, as `regard.model.attention` writes them out.
 *
 *     Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V
 */

import { AddAndNorm, normalised, rotated } from "./layers.js";
import { keep } from "./trace.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./weights.js").Weights} Weights */

/** Keys and values to attend to: [key_heads, length, size] each. */
/** @typedef {{ key: Float32Array, value: Float32Array }} KeyValue */

/** What the queries may see: a bias of relative positions, whether later keys are hidden, and how many earlier ones are not. */
/** @typedef {{ bias: Float32Array | null, causal: boolean, window?: number | null }} Visibility */

/** Of each row. @param {Float32Array} scores @param {number} width */
export function softmax(scores, width) {
	const result = new Float32Array(scores.length);
	for (let start = 0; start < scores.length; start += width) {
		let [largest, sum] = [-Infinity, 0];
		for (let i = start; i < start + width; i++) largest = Math.max(largest, /** @type {number} */ (scores[i]));
		for (let i = start; i < start + width; i++) sum += result[i] = Math.exp(/** @type {number} */ (scores[i]) - largest);
		for (let i = start; i < start + width; i++) result[i] = /** @type {number} */ (result[i]) / sum;
	}
	return result;
}

/** Equation 1, step by step. @param {Float32Array} query @param {KeyValue} memory @param {number} heads @param {number} keyHeads each shared by as many neighbouring heads @param {number} features of a head @param {Visibility} visibility @param {Trace | null} trace */
export function attention(query, { key, value }, heads, keyHeads, features, { bias, causal, window }, trace) {
	const [size, keySize] = [query.length / heads, key.length / keyHeads];
	const [queryLen, keyLen] = [size / features, keySize / features];
	const shape = [heads, queryLen, keyLen];
	/** @param {number} head where its keys and values begin */
	const shared = (head) => Math.floor((head * keyHeads) / heads) * keySize;
	const scores = new Float32Array(heads * queryLen * keyLen);
	for (let head = 0, at = 0; head < heads; head++) {
		for (let i = 0; i < queryLen; i++) {
			for (let j = 0; j < keyLen; j++, at++) {
				const [from, to] = [head * size + i * features, shared(head) + j * features];
				let sum = 0;
				for (let k = 0; k < features; k++) sum += /** @type {number} */ (query[from + k]) * /** @type {number} */ (key[to + k]);
				scores[at] = sum;
			}
		}
	}
	const raw = keep(trace, "scores", shape, scores);
	const scaled = keep(trace, "scaled", shape, raw.map((score) => score / Math.sqrt(features)));
	const seen = scaled.map((score, at) => {
		// The newest query stands at the last key.
		const distance = (Math.floor(at / keyLen) % queryLen) + keyLen - queryLen - (at % keyLen);
		return causal && (distance < 0 || (window && distance >= window)) ? -Infinity : score + (bias ? /** @type {number} */ (bias[at]) : 0);
	});
	const masked = keep(trace, "masked", shape, seen);
	const weights = keep(trace, "weights", shape, softmax(masked, keyLen));
	const context = new Float32Array(query.length);
	for (let head = 0, at = 0; head < heads; head++) {
		for (let i = 0; i < queryLen; i++) {
			const to = head * size + i * features;
			for (let j = 0; j < keyLen; j++, at++) {
				const weight = /** @type {number} */ (weights[at]);
				const from = shared(head) + j * features;
				for (let k = 0; k < features; k++) context[to + k] = /** @type {number} */ (context[to + k]) + weight * /** @type {number} */ (value[from + k]);
			}
		}
	}
	return { context: keep(trace, "context", [heads, queryLen, features], context), weights };
}

/** The orange boxes of Figure 1, with the Add & Norm above each. */
export class MultiHeadAttention extends AddAndNorm {
	/** @param {Weights} weights @param {string} name */
	constructor(weights, name) {
		super(weights, name);
		this.heads = weights.config.num_heads;
		this.keyHeads = weights.config.num_key_value_heads ?? this.heads;
		this.size = weights.matrix(`${name}.query.weight`).numRows / this.heads;
	}

	/** Q W_i, K W_i or V W_i of every head. @param {Float32Array} inputs @param {"query" | "key" | "value"} map @returns {Float32Array} [heads, length, size] */
	project(inputs, map) {
		return this.split(this.weights.linear(inputs, `${this.name}.${map}`), map === "query" ? this.heads : this.keyHeads);
	}

	/** @param {Float32Array} x [length, heads * size] @param {number} [heads] */
	split(x, heads = this.heads) {
		const { size } = this;
		const length = x.length / (heads * size);
		const result = new Float32Array(x.length);
		for (let head = 0, at = 0; head < heads; head++) {
			for (let i = 0; i < length; i++, at += size) result.set(x.subarray((i * heads + head) * size, (i * heads + head + 1) * size), at);
		}
		return result;
	}

	/** Self-attention of rows of the same length, each with the keys and values of its earlier words. @param {Float32Array} x [rows * length, d_model] @param {number[]} positions @param {(KeyValue | null)[]} past of each row @param {Visibility} visibility @param {Trace | null} trace */
	forward(x, positions, past, visibility, trace) {
		const inputs = this.normInput(x, trace);
		const length = positions.length;
		/** @param {"query" | "key" | "value"} map */
		const rows = (map) => {
			const heads = map === "query" ? this.heads : this.keyHeads;
			const projected = this.weights.linear(inputs, `${this.name}.${map}`);
			const width = length * heads * this.size;
			return past.map((_, row) => this.split(projected.subarray(row * width, (row + 1) * width), heads));
		};
		const [queries, keys, values] = [rows("query"), rows("key"), rows("value")];
		const { config } = this.weights;
		/** @param {Float32Array} vectors @param {"query" | "key"} map */
		const turned = (vectors, map) => {
			const normal = config.query_key_norm ? normalised(this.weights, `${this.name}.${map}_norm`, vectors, "rms") : vectors;
			return config.position === "rotary" ? rotated(normal, this.size, positions, config) : normal;
		};
		const present = past.map((earlier, row) => {
			const fresh = { key: turned(keys[row] ?? x, "key"), value: values[row] ?? x };
			return earlier ? { key: this.joined(earlier.key, fresh.key), value: this.joined(earlier.value, fresh.value) } : fresh;
		});
		const found = present.map((each, row) => this.attend(turned(queries[row] ?? x, "query"), each, visibility, trace));
		return { x: this.finish(x, found, trace), present };
	}

	/** Cross-attention: every row attends to the same source. @param {Float32Array} x @param {number} numRows @param {KeyValue} memory @param {Trace | null} trace */
	crossAttend(x, numRows, memory, trace) {
		const projected = this.weights.linear(this.normInput(x, trace), `${this.name}.query`);
		const width = projected.length / numRows;
		const found = Array.from({ length: numRows }, (_, row) => {
			const query = this.split(projected.subarray(row * width, (row + 1) * width));
			return this.attend(query, memory, { bias: null, causal: false }, trace);
		});
		return { x: this.finish(x, found, trace), weights: found.map((each) => each.weights) };
	}

	/** @param {Float32Array} query @param {KeyValue} memory @param {Visibility} visibility @param {Trace | null} trace */
	attend(query, memory, visibility, trace) {
		const { heads, keyHeads, size } = this;
		/** @param {string} name @param {Float32Array} values @param {number} count */
		const kept = (name, values, count) => keep(trace, name, [count, values.length / count / size, size], values);
		const asked = kept("query", query, heads);
		const seen = { key: kept("key", memory.key, keyHeads), value: kept("value", memory.value, keyHeads) };
		return attention(asked, seen, heads, keyHeads, size, visibility, trace);
	}

	/** Concat(head_1, ..., head_h) W_O, and Add & Norm. @param {Float32Array} x @param {{ context: Float32Array }[]} found of each row @param {Trace | null} trace */
	finish(x, found, trace) {
		const { heads, size } = this;
		const width = heads * size;
		const concatenated = new Float32Array(found.reduce((sum, each) => sum + each.context.length, 0));
		let start = 0;
		for (const { context } of found) {
			const length = context.length / width;
			for (let head = 0, at = 0; head < heads; head++) {
				for (let i = 0; i < length; i++, at += size) concatenated.set(context.subarray(at, at + size), start + (i * heads + head) * size);
			}
			start += context.length;
		}
		const kept = keep(trace, "concatenated", [start / width, width], concatenated);
		const output = this.weights.linear(kept, `${this.name}.output`);
		return this.addAndNorm(x, keep(trace, "output", [start / width, this.weights.config.d_model], output), trace);
	}

	/** Head by head, the earlier words and then the newer ones. @param {Float32Array} earlier @param {Float32Array} newer */
	joined(earlier, newer) {
		const [before, after] = [earlier.length / this.keyHeads, newer.length / this.keyHeads];
		const result = new Float32Array(earlier.length + newer.length);
		for (let head = 0; head < this.keyHeads; head++) {
			result.set(earlier.subarray(head * before, (head + 1) * before), head * (before + after));
			result.set(newer.subarray(head * after, (head + 1) * after), head * (before + after) + before);
		}
		return result;
	}
}
