/** What Transformers and recurrent models share, the two ends: `regard.model.network`. */

import { softmax } from "./attention.js";
import { activationOf, normalised, positionVectors } from "./layers.js";
import { at, keep } from "./trace.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./weights.js").Weights} Weights */

/** @param {number} length @param {number} [start] */
export const counted = (length, start = 0) => Array.from({ length }, (_, i) => start + i);

export class Network {
	/** @param {Weights} weights */
	constructor(weights) {
		const { config } = weights;
		this.config = config;
		this.weights = weights;
		this.hasEncoder = config.architecture !== "decoder-only";
		this.hasDecoder = config.architecture !== "encoder-only";
		this.vocabularySize = this.hasDecoder ? config.target_vocab_size : config.source_vocab_size;
	}

	/** Tokens in, vectors out: what the first layer of a stack reads. @param {"source" | "target"} side @param {number[]} tokens of all rows @param {number[]} positions of a row @param {Trace | null} trace */
	embed(side, tokens, positions, trace) {
		const { d_model: width, scaled_embedding: isScaled, embedding_norm: hasNorm } = this.config;
		const shape = [tokens.length, width];
		const here = at(trace, side);
		const kept = Array.from(keep(here, "tokens", [tokens.length], Float32Array.from(tokens)));
		const factor = isScaled ? Math.sqrt(width) : 1;
		let x = keep(here, "embedding", shape, this.weights.rows(`${side}.embedding.weight`, kept).map((value) => value * factor));
		const vectors = positionVectors(this.weights, side, positions, positions.length);
		if (vectors) {
			const row = keep(here, "position", [positions.length, width], vectors);
			x = x.map((value, i) => value + /** @type {number} */ (row[i % row.length]));
		}
		if (hasNorm) x = keep(here, "norm", shape, normalised(this.weights, `${side}.norm`, x));
		return keep(here, "input", shape, x);
	}

	/** The score of every token of the vocabulary. @param {Float32Array} hidden @param {Trace | null} trace */
	project(hidden, trace) {
		const { config, weights } = this;
		const numRows = hidden.length / config.d_model;
		if (config.output_transform) {
			const shape = [numRows, config.d_model];
			const here = at(trace, "transform");
			hidden = keep(here, "hidden", shape, weights.linear(hidden, "transform.hidden"));
			hidden = keep(here, "activated", shape, hidden.map(activationOf(config.feed_forward)));
			hidden = keep(here, "norm", shape, normalised(weights, "transform.norm", hidden));
		}
		const logits = keep(trace, "logits", [numRows, this.vocabularySize], weights.linear(hidden, "output"));
		if (trace) keep(trace, "probabilities", [numRows, this.vocabularySize], softmax(logits, this.vocabularySize));
		return logits;
	}
}
