/**
 * The encoder-decoders that the Transformer replaced: plain RNN, GRU and LSTM, with attention and without, as
 * `regard.model.recurrent` writes them out. They read and write word by word.
 */

import { softmax } from "./attention.js";
import { Network, counted } from "./network.js";
import { at, keep } from "./trace.js";

/** @typedef {import("./trace.js").Trace} Trace */
/** @typedef {import("./weights.js").Weights} Weights */
/** A layer's state s and, of an LSTM, its memory. @typedef {Float32Array[]} Parts */
/** What the decoder sees of the source: the encoder's states, the vectors that its own are compared with, the fixed one. */
/** @typedef {{ memory: Float32Array, keys: Float32Array, summary: Float32Array }} Sight */
/** @typedef {{ position: number, past: Parts[][], memory: Sight, sourceLength: number, attention: Float32Array[] }} State */

/** @param {number} x */
const sigmoid = (x) => 1 / (1 + Math.exp(-x));

/** @param {...Float32Array} vectors */
const joined = (...vectors) => Float32Array.from(vectors.flatMap((each) => [...each]));

/** @param {Float32Array} values @param {number} width @param {number} row */
const rowOf = (values, width, row) => values.subarray(row * width, (row + 1) * width);

/** @param {Float32Array} a @param {Float32Array} b */
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);

/** One step of a plain RNN, a GRU or an LSTM. */
class Cell {
	/** @param {Weights} weights @param {string} name */
	constructor(weights, name) {
		this.weights = weights;
		this.name = name;
		this.kind = weights.config.architecture;
		this.width = weights.matrix(`${name}.weight_hh_l0`).width;
	}

	/** @param {Float32Array} x @param {"ih" | "hh"} map */
	linear(x, map) {
		const bias = this.weights.vector(`${this.name}.bias_${map}_l0`);
		return this.weights.memory.product(x, this.weights.matrix(`${this.name}.weight_${map}_l0`)).map((value, i) => value + (bias[i] ?? 0));
	}

	/** The state after one more word. @param {Float32Array} x @param {Parts} [before] @returns {Parts} */
	advance(x, [state = new Float32Array(this.width), memory = state] = []) {
		const { width } = this;
		const [inputs, recurrent] = [this.linear(x, "ih"), this.linear(state, "hh")];
		/** @param {number} i @param {number} gate */
		const sum = (i, gate) => (inputs[gate * width + i] ?? 0) + (recurrent[gate * width + i] ?? 0);
		if (this.kind === "rnn") return [state.map((_, i) => Math.tanh(sum(i, 0)))];
		if (this.kind === "gru") {
			return [
				state.map((old, i) => {
					const fresh = Math.tanh((inputs[2 * width + i] ?? 0) + sigmoid(sum(i, 0)) * (recurrent[2 * width + i] ?? 0));
					return fresh + sigmoid(sum(i, 1)) * (old - fresh);
				}),
			];
		}
		const kept = memory.map((old, i) => sigmoid(sum(i, 1)) * old + sigmoid(sum(i, 0)) * Math.tanh(sum(i, 2)));
		return [kept.map((value, i) => sigmoid(sum(i, 3)) * Math.tanh(value)), kept];
	}

	/** The state after each of these words. @param {Float32Array[]} words @returns {Float32Array[]} */
	run(words) {
		/** @type {Parts} */
		let parts = [new Float32Array(this.width), new Float32Array(this.width)];
		return words.map((word) => (parts = this.advance(word, parts))[0] ?? word);
	}
}

/** Records and edits values [..., 1, features] position by position, so that a loop traces like one pass. */
class Steps {
	/** @param {Trace | null} trace @param {number} count */
	constructor(trace, count) {
		this.trace = trace;
		this.count = count;
		this.here = 0;
		/** @type {Record<string, Float32Array>} */
		this.values = {};
	}

	/** @param {string} name @param {Float32Array} row @param {boolean} [isOfAHead] */
	keep(name, row, isOfAHead = true) {
		if (!this.trace) return row;
		const shape = [...(isOfAHead ? [1] : []), this.count, row.length];
		const alone = new Float32Array(this.count * row.length);
		alone.set(row, this.here * row.length);
		const edited = rowOf(keep(this.trace, name, shape, alone), row.length, this.here).slice();
		const whole = (this.values[name] ??= new Float32Array(alone.length));
		whole.set(edited, this.here * row.length);
		(this.trace.root ?? this.trace).values.set(this.trace.path + name, { shape, data: whole });
		return edited;
	}
}

export class Recurrent extends Network {
	/** @param {Weights} weights */
	constructor(weights) {
		super(weights);
		const { num_encoder_layers: below, num_decoder_layers: above, d_state: width, attention } = weights.config;
		this.width = width;
		this.kind = attention;
		this.layers = counted(below).map((i) => ["forwards", "backwards"].map((way) => new Cell(weights, `encoder.layers.${i}.${way}`)));
		this.cells = counted(above).map((i) => new Cell(weights, `decoder.layers.${i}`));
	}

	/** The states of both directions at each source word. @param {number[]} source @param {Trace | null} [trace] */
	encode(source, trace = null) {
		const x = this.embed("source", source, counted(source.length), trace);
		let words = counted(source.length).map((i) => rowOf(x, this.config.d_model, i));
		this.layers.forEach((cells, i) => {
			const here = at(at(trace, "encoder"), `layers.${i}`);
			const [forwards = [], backwards = []] = cells.map((cell, way) => {
				const states = way ? cell.run([...words].reverse()).reverse() : cell.run(words);
				const kept = keep(here, way ? "backwards" : "forwards", [words.length, cell.width], joined(...states));
				return states.map((_, row) => rowOf(kept, cell.width, row));
			});
			words = forwards.map((each, row) => joined(each, backwards[row] ?? each));
		});
		return keep(trace, "memory", [source.length, this.width], joined(...words));
	}

	/** @param {number[]} source @param {Trace | null} [trace] @returns {State} */
	start(source, trace = null) {
		const { width } = this;
		const memory = this.encode(source, trace);
		const here = at(trace, "decoder");
		const first = memory.subarray(width / 2, width);
		const last = rowOf(memory, width, source.length - 1).subarray(0, width / 2);
		const fixed = this.kind === "none" ? joined(last, first) : first.slice();
		const summary = keep(here, "summary", [fixed.length], fixed);
		const drawn = this.weights.linear(summary, "decoder.initial").map(Math.tanh);
		const size = drawn.length / this.cells.length;
		const initial = keep(here, "initial", [this.cells.length, size], drawn);
		const past = this.cells.map((_, i) => counted(size / width).map((part) => rowOf(rowOf(initial, size, i), width, part)));
		let keys = memory;
		if (this.kind !== "none") {
			if (this.kind !== "dot") keys = this.weights.linear(memory, "decoder.attention.key");
			keys = keep(at(here, "attention"), "key", [1, source.length, width], keys);
		}
		return { position: 0, past: [past], memory: { memory, keys, summary }, sourceLength: source.length, attention: [] };
	}

	/** What a state finds in the source. @param {Float32Array} state @param {Sight} sight @param {Steps} steps */
	attend(state, { memory, keys }, steps) {
		const { width, kind, weights } = this;
		const query = steps.keep("attention.query", kind === "additive" ? weights.linear(state, "decoder.attention.query") : state);
		const vector = kind === "additive" ? weights.vector("decoder.attention.energy") : null;
		const energies = Float32Array.from({ length: memory.length / width }, (_, i) => {
			const key = rowOf(keys, width, i);
			return vector ? dot(query.map((value, j) => Math.tanh(value + (key[j] ?? 0))), vector) : dot(query, key);
		});
		const masked = steps.keep("attention.masked", steps.keep("attention.energies", energies));
		const shares = steps.keep("attention.weights", softmax(masked, masked.length));
		const mixed = new Float32Array(width);
		shares.forEach((share, i) => rowOf(memory, width, i).forEach((value, j) => (mixed[j] = (mixed[j] ?? 0) + share * value)));
		return { context: steps.keep("attention.context", mixed), shares };
	}

	/** The readout after each of these words, and the state that has read them. @param {number[]} tokens @param {State} state @param {Parts[]} past @param {Trace | null} trace */
	write(tokens, { position, memory }, past, trace) {
		const { d_model: size } = this.config;
		const x = this.embed("target", tokens, counted(tokens.length, position), trace);
		const here = at(trace, "decoder");
		const steps = new Steps(here, tokens.length);
		let shares = new Float32Array(0);
		/** @param {Float32Array} query */
		const seen = (query) => {
			const found = this.attend(query, memory, steps);
			shares = new Float32Array(found.shares);
			return found.context;
		};
		const rows = tokens.map((_, i) => {
			steps.here = i;
			const word = rowOf(x, size, i);
			let context = this.kind === "none" ? memory.summary : this.kind === "additive" ? seen(past.at(-1)?.[0] ?? word) : null;
			let inputs = context ? joined(word, context) : word;
			past = this.cells.map((cell, layer) => {
				const [fresh = word, ...rest] = cell.advance(inputs, past[layer]);
				inputs = steps.keep(`layers.${layer}.state`, fresh, false);
				return [inputs, ...rest];
			});
			context ??= seen(inputs);
			return joined(inputs, word, context);
		});
		const hidden = keep(here, "readout.hidden", [rows.length, 2 * size], this.weights.linear(joined(...rows), "decoder.readout"));
		const most = Float32Array.from({ length: rows.length * size }, (_, i) => Math.max(hidden[2 * i] ?? 0, hidden[2 * i + 1] ?? 0));
		return { output: keep(here, "readout.output", [rows.length, size], most), past, shares };
	}

	/** The scores of the next token after one more token in each row. @param {number[]} tokens @param {State} state @param {Trace | null} [trace] @returns {{ logits: Float32Array[], state: State }} */
	step(tokens, state, trace = null) {
		return this.read(tokens.map((token) => [token]), state, trace);
	}

	/** The same after more tokens, as many in each row. @param {number[][]} tokens @param {State} state @param {Trace | null} [trace] @returns {{ logits: Float32Array[], state: State }} */
	read(tokens, state, trace = null) {
		const found = tokens.map((row, i) => this.write(row, state, state.past[i] ?? [], trace));
		const last = found.map(({ output }) => output.subarray(output.length - this.config.d_model));
		const logits = this.project(joined(...last), null);
		return {
			logits: tokens.map((_, row) => rowOf(logits, this.vocabularySize, row)),
			state: {
				...state,
				position: state.position + (tokens[0]?.length ?? 0),
				past: found.map((each) => each.past),
				attention: this.kind === "none" ? [] : found.map((each) => each.shares),
			},
		};
	}

	/** One full pass over a source (its end included) and a target (without ends), every value kept. @param {number[]} source @param {number[]} target @param {Trace} trace */
	trace(source, target, trace) {
		const state = this.start(source, trace);
		this.project(this.write([this.config.bos_id, ...target], state, state.past[0] ?? [], trace).output, trace);
		return trace;
	}
}
