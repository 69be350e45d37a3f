/** The whole of Figure 1, and the two halves of it that became models of their own: `regard.model.transformer`. */

import { MultiHeadAttention } from "./attention.js";
import { FeedForward, normalised, positionBias } from "./layers.js";
import { Network, counted } from "./network.js";
import { Trace, at, keep } from "./trace.js";

/** @typedef {import("./attention.js").KeyValue} KeyValue */

/** @typedef {import("./trace.js").Edits} Edits */
/** @typedef {import("./weights.js").Weights} Weights */

/** What the decoder remembers between two steps: for each row, for each layer, keys and values; never changed in place. */
/** @typedef {{ position: number, past: (KeyValue[] | null)[], memory: KeyValue[], sourceLength: number, attention: Float32Array[] }} State */

class Layer {
	/** @param {Weights} weights @param {string} name @param {boolean} crosses */
	constructor(weights, name, crosses) {
		this.selfAttention = new MultiHeadAttention(weights, `${name}.self_attention`);
		this.crossAttention = crosses ? new MultiHeadAttention(weights, `${name}.cross_attention`) : null;
		this.feedForward = new FeedForward(weights, `${name}.feed_forward`);
	}
}

/** N layers, the positions that enter their attention, the last norm. */
class Stack {
	/** @param {Weights} weights @param {"encoder" | "decoder"} name @param {number} numLayers @param {boolean} crosses */
	constructor(weights, name, numLayers, crosses) {
		this.weights = weights;
		this.name = name;
		this.layers = counted(numLayers).map((i) => new Layer(weights, `${name}.layers.${i}`, crosses));
	}

	/** @param {Float32Array} x [rows * length, d_model] @param {number[]} positions of a row @param {(KeyValue[] | null)[]} past of each row @param {KeyValue[]} memory of each layer @param {Trace | null} trace */
	forward(x, positions, past, memory, trace) {
		const { config } = this.weights;
		const here = at(trace, this.name);
		const keys = counted((positions[0] ?? 0) + positions.length);
		const near = positionBias(this.weights, this.name, positions, keys);
		const bias = near && keep(here, "position_bias", [config.num_heads, positions.length, keys.length], near);
		const visibility = { bias, causal: this.name === "decoder", window: config.window };
		/** @type {KeyValue[][]} */
		const present = past.map(() => []);
		/** @type {Float32Array[]} */
		let attention = [];
		this.layers.forEach((layer, i) => {
			const inside = at(here, `layers.${i}`);
			const found = layer.selfAttention.forward(x, positions, past.map((row) => row?.[i] ?? null), visibility, at(inside, "self_attention"));
			x = found.x;
			found.present.forEach((each, row) => present[row]?.push(each));
			const source = memory[i];
			if (layer.crossAttention && source) {
				const crossed = layer.crossAttention.crossAttend(x, past.length, source, at(inside, "cross_attention"));
				x = crossed.x;
				attention = crossed.weights;
			}
			x = layer.feedForward.forward(x, at(inside, "feed_forward"));
		});
		if (config.norm_placement === "pre") {
			x = keep(here, "final_norm", [x.length / config.d_model, config.d_model], normalised(this.weights, `${this.name}.final_norm`, x));
		}
		return { x, present, attention };
	}
}

export class Transformer extends Network {
	/** @param {Weights} weights */
	constructor(weights) {
		super(weights);
		const { config } = weights;
		this.encoder = this.hasEncoder ? new Stack(weights, "encoder", config.num_encoder_layers, false) : null;
		this.decoder = this.hasDecoder ? new Stack(weights, "decoder", config.num_decoder_layers, this.hasEncoder) : null;
	}

	/** The memory: one vector in context for each source word. @param {number[]} source @param {Trace | null} [trace] */
	encode(source, trace = null) {
		if (!this.encoder) throw new Error("a decoder-only model reads no source");
		const positions = counted(source.length);
		const { x } = this.encoder.forward(this.embed("source", source, positions, trace), positions, [null], [], trace);
		return keep(trace, "memory", [source.length, this.config.d_model], x);
	}

	/** For each layer, the keys and values of the encoder's output. @param {Float32Array} memory @returns {KeyValue[]} */
	projectMemory(memory) {
		const crossing = (this.decoder?.layers ?? []).flatMap((layer) => layer.crossAttention ?? []);
		return crossing.map((layer) => ({ key: layer.project(memory, "key"), value: layer.project(memory, "value") }));
	}

	/** Read the source; the state before the first target word. @param {number[]} source empty for a decoder-only model @param {Trace | null} [trace] @returns {State} */
	start(source, trace = null) {
		const memory = this.hasEncoder ? this.projectMemory(this.encode(source, trace)) : [];
		return { position: 0, past: [null], memory, sourceLength: source.length, attention: [] };
	}

	/** The scores of the next token after one more token in each row. @param {number[]} tokens @param {State} state @param {Trace | null} [trace] @returns {{ logits: Float32Array[], state: State }} */
	step(tokens, state, trace = null) {
		return this.read(tokens.map((token) => [token]), state, trace);
	}

	/** The same after more tokens, as many in each row. @param {number[][]} tokens @param {State} state @param {Trace | null} [trace] @returns {{ logits: Float32Array[], state: State }} */
	read(tokens, state, trace = null) {
		if (!this.decoder) throw new Error("an encoder-only model writes nothing");
		const { d_model: width } = this.config;
		const length = tokens[0]?.length ?? 0;
		const positions = counted(length, state.position);
		const x = this.embed("target", tokens.flat(), positions, trace);
		const found = this.decoder.forward(x, positions, state.past, state.memory, trace);
		const last = new Float32Array(tokens.length * width);
		tokens.forEach((_, row) => last.set(found.x.subarray(((row + 1) * length - 1) * width, (row + 1) * length * width), row * width));
		const logits = this.project(last, null);
		const heads = this.config.num_heads;
		const attention = found.attention.map((weights) => {
			// Of the newest token, averaged over the heads.
			const mean = new Float32Array(state.sourceLength);
			for (let head = 0; head < heads; head++) {
				const start = ((head + 1) * length - 1) * mean.length;
				for (let i = 0; i < mean.length; i++) mean[i] = (mean[i] ?? 0) + (weights[start + i] ?? 0) / heads;
			}
			return mean;
		});
		const size = this.vocabularySize;
		return {
			logits: tokens.map((_, row) => logits.subarray(row * size, (row + 1) * size)),
			state: { ...state, position: state.position + length, past: found.present, attention },
		};
	}

	/** One full masked pass over a source (its end included) and a target (without ends), every value kept. @param {number[]} source @param {number[]} target @param {Trace} trace @param {Float32Array | null} [known] memory, where nothing in the encoder has changed */
	trace(source, target, trace, known = null) {
		let hidden = known ?? (this.hasEncoder ? this.encode(source, trace) : new Float32Array(0));
		if (this.decoder) {
			const tokens = [this.config.bos_id, ...target];
			const positions = counted(tokens.length);
			const memory = this.hasEncoder ? this.projectMemory(hidden) : [];
			hidden = this.decoder.forward(this.embed("target", tokens, positions, trace), positions, [null], memory, trace).x;
		}
		this.project(hidden, trace);
		return trace;
	}
}

/** The step interface that a search takes: plain, or under edits that depend on the position of a pass's first target word. */
export class Engine {
	/** @param {Transformer} model @param {((position: number) => Edits) | null} [editsAt] @param {boolean} [isCached] whether earlier words stay as they are */
	constructor(model, editsAt = null, isCached = true) {
		this.model = model;
		this.config = model.config;
		this.editsAt = editsAt;
		this.isCached = isCached;
	}

	/** @param {number} position */
	edited(position) {
		return this.editsAt && new Trace(this.editsAt(position), false);
	}

	/** @param {number[]} source */
	start(source) {
		return { state: this.model.start(source, this.edited(0)), written: [/** @type {number[]} */ ([])] };
	}

	/** @param {number[]} tokens @param {{ state: State, written: number[][] }} before */
	step(tokens, { state, written }) {
		const longer = written.map((row, i) => [...row, tokens[i] ?? 0]);
		if (this.isCached) {
			const found = this.model.step(tokens, state, this.edited(state.position));
			return { logits: found.logits, state: { state: found.state, written: longer } };
		}
		// An edit that lets a word see later ones changes the earlier vectors with every new word.
		const fresh = { ...state, position: 0, past: written.map(() => null) };
		const found = this.model.read(longer, fresh, this.edited(0));
		return { logits: found.logits, state: { state: found.state, written: longer } };
	}

	/** @param {{ state: State, written: number[][] }} before @param {number[]} rows */
	select({ state, written }, rows) {
		/** @template Kind @param {Kind[]} values @returns {Kind[]} */
		const chosen = (values) => rows.map((row) => /** @type {Kind} */ (values[row]));
		return { state: { ...state, past: chosen(state.past), attention: state.attention.length ? chosen(state.attention) : [] }, written: chosen(written) };
	}
}
