/** The boxes of Figure 1 that are not attention: Add & Norm, feed-forward, positions. Names as in `regard.model`. */

import { keep } from "./trace.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./weights.js").Weights} Weights */

const BASE = 10000;

/** @param {Float32Array} x @param {Float32Array} other */
export const added = (x, other) => x.map((value, i) => value + /** @type {number} */ (other[i]));

/** LayerNorm, RMSNorm or batch norm of each row. @param {Weights} weights @param {string} name @param {Float32Array} x [rows, d_model] @param {string} [kind] */
export function normalised(weights, name, x, kind = weights.config.norm) {
	const { config } = weights;
	if (!["layer", "rms", "batch"].includes(kind)) throw new Error(`norm must be one that the page's engine has: got ${kind}`);
	const gain = weights.vector(`${name}.weight`);
	const bias = weights.vectors.get(`${name}.bias`);
	const width = gain.length;
	const result = new Float32Array(x.length);
	const running = kind === "batch" ? [weights.vector(`${name}.running_mean`), weights.vector(`${name}.running_variance`)] : null;
	for (let start = 0; start < x.length; start += width) {
		let [mean, variance] = [0, 0];
		if (kind === "layer") {
			for (let i = 0; i < width; i++) mean += /** @type {number} */ (x[start + i]);
			mean /= width;
		}
		for (let i = 0; i < width; i++) variance += (/** @type {number} */ (x[start + i]) - mean) ** 2;
		variance /= width;
		for (let i = 0; i < width; i++) {
			const [centre, spread] = running ? [running[0]?.[i] ?? NaN, running[1]?.[i] ?? NaN] : [mean, variance];
			const normal = (/** @type {number} */ (x[start + i]) - centre) / Math.sqrt(spread + config.norm_epsilon);
			result[start + i] = normal * /** @type {number} */ (gain[i]) + (bias?.[i] ?? 0);
		}
	}
	return result;
}

/** Base of every sub-layer: the residual sum and the norm around it. */
export class AddAndNorm {
	/** @param {Weights} weights @param {string} name */
	constructor(weights, name) {
		this.weights = weights;
		this.name = name;
		this.normFirst = weights.config.norm_placement === "pre";
	}

	/** @param {Float32Array} x @param {Trace | null} trace */
	norm(x, trace) {
		const { d_model: width } = this.weights.config;
		return keep(trace, "norm", [x.length / width, width], normalised(this.weights, `${this.name}.norm`, x));
	}

	/** The sub-layer's input: x, normalised with pre-norm. @param {Float32Array} x @param {Trace | null} trace */
	normInput(x, trace) {
		return this.normFirst ? this.norm(x, trace) : x;
	}

	/** LayerNorm(x + Sublayer(x)), given the sub-layer's output. @param {Float32Array} x @param {Float32Array} output @param {Trace | null} trace */
	addAndNorm(x, output, trace) {
		const { d_model: width } = this.weights.config;
		const residual = keep(trace, "residual", [x.length / width, width], added(x, output));
		return this.normFirst ? residual : this.norm(residual, trace);
	}
}

/** The share of a normal distribution below x. @param {number} x */
function normalShare(x) {
	if (Math.abs(x) > 8) return x > 0 ? 1 : 0;
	let [term, sum] = [x, x];
	for (let n = 3; Math.abs(term) > 1e-17; n += 2) sum += term *= (x * x) / n;
	return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

/** @type {Record<string, (x: number) => number>} */
export const ACTIVATIONS = {
	relu: (x) => (x > 0 ? x : 0),
	gelu: (x) => x * normalShare(x),
	"gelu-tanh": (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
	silu: (x) => x / (1 + Math.exp(-x)),
};

/** @param {string} kind such as gated-silu @returns {(x: number) => number} */
export function activationOf(kind) {
	const found = ACTIVATIONS[kind.replace("gated-", "")];
	if (!found) throw new Error(`feed_forward must be one of ${Object.keys(ACTIVATIONS).join(", ")}: got ${kind}`);
	return found;
}

/** FFN(x) = activation(x W_1 + b_1) W_2 + b_2, gated or not. */
export class FeedForward extends AddAndNorm {
	/** @param {Weights} weights @param {string} name */
	constructor(weights, name) {
		super(weights, name);
		this.activation = activationOf(weights.config.feed_forward);
		this.isGated = weights.config.feed_forward.startsWith("gated-");
	}

	/** @param {Float32Array} x @param {Trace | null} trace */
	forward(x, trace) {
		const { config } = this.weights;
		const shape = [x.length / config.d_model, config.d_ff];
		const inputs = this.normInput(x, trace);
		const hidden = keep(trace, "hidden", shape, this.weights.linear(inputs, `${this.name}.hidden`));
		/** @type {Float32Array} */
		let activated = hidden.map(this.activation);
		if (this.isGated) {
			const gate = keep(trace, "gate", shape, this.weights.linear(inputs, `${this.name}.gate`));
			activated = activated.map((value, i) => value * /** @type {number} */ (gate[i]));
		}
		activated = keep(trace, "activated", shape, activated);
		const output = this.weights.linear(activated, `${this.name}.output`);
		return this.addAndNorm(x, keep(trace, "output", [shape[0] ?? 0, config.d_model], output), trace);
	}
}

/** The angle of a position for a pair of features; single precision, as torch computes it. @param {number} position @param {number} pair @param {number} size */
const angle = (position, pair, size) => Math.fround(position * Math.fround(BASE ** Math.fround((-2 * pair) / size)));

/** The angle by which one word turns each pair of a head's features: another base, or smaller for pairs that turn seldom. @param {EngineConfig} config @param {number} size */
function rotaryFrequencies({ rotary_base: base = BASE, rotary_factor: factor = 1, rotary_length: length = 0 }, size) {
	return Array.from({ length: size / 2 }, (_, pair) => {
		const plain = Math.fround(base ** Math.fround((-2 * pair) / size));
		const kept = Math.max(0, Math.min(1, ((plain * length) / (2 * Math.PI) - 1) / 3));
		return Math.fround(plain * (kept + (1 - kept) / factor));
	});
}

/** The vector to add for each position; null for the kinds that add none. @param {Weights} weights @param {string} side @param {number[]} positions @param {number} sourceLength of the scaled kind */
export function positionVectors(weights, side, positions, sourceLength) {
	const { position: kind, d_model: width, max_positions: most } = weights.config;
	if (["rotary", "none"].includes(kind) || BIASES[kind]) return null;
	if (!["sinusoidal", "learned", "scaled", "integer"].includes(kind)) throw new Error(`position must be one that the page's engine has: got ${kind}`);
	if (kind === "learned") return weights.rows(`${side}.position.weight`, positions.map((each) => Math.min(each, most - 1)));
	const values = new Float32Array(positions.length * width);
	positions.forEach((position, row) => {
		for (let i = 0; i < width; i++) {
			const turn = angle(position, i >> 1, width);
			const wave = i % 2 ? Math.cos(turn) : Math.sin(turn);
			const length = side === "source" ? sourceLength : most;
			values[row * width + i] = kind === "sinusoidal" ? wave : kind === "scaled" ? position / Math.max(length - 1, 1) : position;
		}
	});
	return values;
}

/** Turn each pair of neighbouring features by the angle of its position. @param {Float32Array} x [heads, length, size] @param {number} size @param {number[]} positions @param {EngineConfig} config @param {number} [direction] -1 turns back */
export function rotated(x, size, positions, config, direction = 1) {
	const result = new Float32Array(x.length);
	const frequencies = rotaryFrequencies(config, size);
	for (let row = 0; row < x.length / size; row++) {
		const position = positions[row % positions.length] ?? 0;
		for (let i = 0; i < size; i += 2) {
			const turn = Math.fround(position * (frequencies[i >> 1] ?? 0));
			const [cos, sin] = [Math.cos(turn), direction * Math.sin(turn)];
			const [even, odd] = [/** @type {number} */ (x[row * size + i]), /** @type {number} */ (x[row * size + i + 1])];
			result[row * size + i] = even * cos - odd * sin;
			result[row * size + i + 1] = even * sin + odd * cos;
		}
	}
	return result;
}

/** The bucket of a distance: T5's relative positions. @param {number} distance @param {EngineConfig} config @param {boolean} looksAhead */
function bucket(distance, config, looksAhead) {
	let { num_buckets: count } = config;
	let first = 0;
	if (looksAhead) {
		count = Math.floor(count / 2);
		first = distance > 0 ? count : 0;
		distance = Math.abs(distance);
	} else distance = Math.max(-distance, 0);
	const near = Math.floor(count / 2);
	if (distance < near) return first + distance;
	const far = (Math.log(distance / near) / Math.log(config.max_distance / near)) * (count - near);
	return first + Math.min(near + Math.floor(Math.fround(far)), count - 1);
}

/** The kinds of positions that bias scores: what a head of a stack adds at a distance. */
/** @type {Record<string, (weights: Weights, stack: string) => (head: number, distance: number) => number>} */
export const BIASES = {
	relative: (weights, stack) => {
		const table = weights.parameter(`${stack}.position_bias.weight`);
		const { config } = weights;
		return (head, distance) => table[bucket(distance, config, stack === "encoder") * config.num_heads + head] ?? NaN;
	},
	alibi: ({ config: { num_heads: heads } }) => {
		const power = 2 ** Math.floor(Math.log2(heads));
		return (head, distance) => -Math.abs(distance) * Math.fround(2 ** ((-4 / power) * (head < power ? 2 * head + 2 : 2 * (head - power) + 1)));
	},
};

/** What positions add to each score; null for the kinds that add nothing. @param {Weights} weights @param {string} stack @param {number[]} queries @param {number[]} keys @returns {Float32Array | null} [heads, queries, keys] */
export function positionBias(weights, stack, queries, keys) {
	const bias = BIASES[weights.config.position]?.(weights, stack);
	const heads = weights.config.num_heads;
	return bias ? Float32Array.from(Array.from({ length: heads }, (_, head) => queries.map((query) => keys.map((key) => bias(head, key - query)))).flat(2)) : null;
}
