/** What if? Each change a reader can ask for, as edits of the real pass and of the real search: `regard.look.whatif`. */

import { BIASES, rotated } from "./layers.js";
import { wordsOf } from "./tokenizer.js";

/** @typedef {import("./trace.js").Value} Value */
/** @typedef {import("./trace.js").Edits} Edits */
/** @typedef {import("./session.js").Subject} Subject */
/** @typedef {import("./session.js").Run} Run */
/** @typedef {{ kind: string, [field: string]: any }} Change */
/** What a run does differently. @typedef {{ text: string, prefix: number[], edits: ((first: number) => Edits)[], seesFuture: boolean, settings: Partial<DecodeConfig> }} Plan */

/** @param {EngineConfig} config @returns {string[]} the path of every attention */
export function attentionsOf(config) {
	/** @param {string} stack @param {number} count @param {string[]} kinds */
	const paths = (stack, count, kinds) => Array.from({ length: count }, (_, i) => kinds.map((kind) => `${stack}.layers.${i}.${kind}`)).flat();
	if (["rnn", "gru", "lstm"].includes(config.architecture)) return config.attention === "none" ? [] : ["decoder.attention"];
	const [hasEncoder, hasDecoder] = [config.architecture !== "decoder-only", config.architecture !== "encoder-only"];
	return [
		...(hasEncoder ? paths("encoder", config.num_encoder_layers, ["self_attention"]) : []),
		...(hasDecoder ? paths("decoder", config.num_decoder_layers, ["self_attention", ...(hasEncoder ? ["cross_attention"] : [])]) : []),
	];
}

/** The changes as one plan. @param {Change[]} changes @param {Subject} subject @param {string} given @param {(count: number) => number[]} outputBefore the output under the first changes @returns {Plan} */
export function planOf(changes, subject, given, outputBefore) {
	/** @type {Plan} */
	const plan = { text: given, prefix: [], edits: [], seesFuture: changes.some((each) => each.kind === "no-mask"), settings: {} };
	const lastForced = changes.map((each) => each.kind).lastIndexOf("force-next");
	changes.forEach((change, at) => {
		if (change.kind === "replace-word") plan.text = withWord(change, subject, plan.text);
		else if (change.kind === "force-next") {
			// A later one begins with what this one led to.
			const tokens = at === lastForced ? subject.target.encode(String(change["text"]).trim()) : [];
			if (at === lastForced && !tokens.length) throw new Error("a word to force must have letters: got an empty one; type another");
			if (at === lastForced) plan.prefix = [...outputBefore(at).slice(0, change["step"]), ...tokens];
		} else if (change.kind === "search") Object.assign(plan.settings, change["settings"]);
		else if (change.kind === "no-positions") plan.edits.push(noPositions(subject.config));
		else if (change.kind === "no-mask") plan.edits.push(noMask(subject.config));
		else if (change.kind === "head-off" || change.kind === "edit-row") plan.edits.push(headEdit(change));
		else throw new Error(`no change is called ${change.kind}`);
	});
	return plan;
}

/** All edits of one pass; where several meet at one name, the earlier change acts first. @param {Plan["edits"]} edits @param {number} first @returns {Edits} */
export function editsAt(edits, first) {
	/** @type {Edits} */
	const merged = {};
	for (const edit of edits) {
		for (const [name, change] of Object.entries(edit(first))) {
			const before = merged[name];
			merged[name] = before ? (value) => change(before(value)) : change;
		}
	}
	return merged;
}

/** Another word in the text, which is counted as the page shows it. @param {Change} change @param {Subject} subject @param {string} given */
function withWord({ index, text }, subject, given) {
	if (!String(text).trim()) throw new Error("a word must have letters: got an empty one; type another");
	const { hasEncoder } = subject.model;
	const tokenizer = hasEncoder ? subject.source : subject.target;
	const masked = subject.translates ? subject.masked(given) : null;
	const read = masked?.text ?? given;
	const start = hasEncoder ? tokenizer.beginning.length : 1;
	const ids = tokenizer.encode(read);
	const word = wordsOf(ids, tokenizer.tokenStrings(ids), tokenizer.specialIds)[index - start];
	if (!word) throw new Error(`index must be a word's: got ${index}`);
	const places = tokenizer.spansIn(read);
	const [begin, end] = [places[word[0] ?? 0]?.[0] ?? 0, places[word[1] ?? 0]?.[1] ?? 0];
	const first = end - read.slice(begin, end).trimStart().length;
	const [from, to] = masked ? masked.givenSpan([first, end]) : [first, end];
	return given.slice(0, from) + String(text).trim() + given.slice(to);
}

/** Order is taken away: nothing is added, and where positions turn vectors they are turned back. @param {EngineConfig} config @returns {(first: number) => Edits} */
function noPositions(config) {
	if (config.position === "none") throw new Error("no-positions needs a model with positions: this has none");
	/** @param {Value} value */
	const zero = ({ shape, data }) => ({ shape, data: new Float32Array(data.length) });
	if (BIASES[config.position]) {
		return () => ({ "encoder.position_bias": zero, "decoder.position_bias": zero });
	}
	if (config.position !== "rotary") return () => ({ "source.position": zero, "target.position": zero });
	/** @param {number} first @returns {(value: Value) => Value} */
	const turnedBack = (first) => ({ shape, data }) => {
		const positions = Array.from({ length: shape[1] ?? 0 }, (_, i) => first + i);
		return { shape, data: rotated(data, shape[2] ?? 1, positions, config, -1) };
	};
	return (first) =>
		Object.fromEntries(
			attentionsOf(config)
				.filter((path) => path.endsWith("self_attention"))
				.flatMap((path) => [
					[`${path}.query`, turnedBack(path.startsWith("encoder") ? 0 : first)],
					[`${path}.key`, turnedBack(0)],
				]),
		);
}

/** The decoder's words see the later ones too: scores go into the softmax as they are. @param {EngineConfig} config @returns {() => Edits} */
function noMask(config) {
	if (["rnn", "gru", "lstm"].includes(config.architecture)) throw new Error("no-mask needs a model with a mask: this one reads what is written alone");
	return () => {
		/** @type {Record<string, Value>} */
		const latest = {};
		/** @type {Edits} */
		const edits = {};
		for (let layer = 0; layer < config.num_decoder_layers; layer++) {
			const path = `decoder.layers.${layer}.self_attention`;
			edits[`${path}.scaled`] = (value) => (latest[path] = value);
			edits[`${path}.masked`] = (value) => latest[path] ?? value;
		}
		return edits;
	};
}

/** One head is off: its context is zero; or one word of it attends as the reader says. @param {Change} change @returns {(first: number) => Edits} */
function headEdit({ kind, attention, head, row, weights: chosen }) {
	if (kind === "head-off") {
		/** @param {Value} value */
		const silent = ({ shape, data }) => {
			const size = data.length / (shape[0] ?? 1);
			return { shape, data: data.slice().fill(0, head * size, (head + 1) * size) };
		};
		return () => ({ [`${attention}.context`]: silent });
	}
	return (first) => {
		const place = attention.startsWith("decoder") ? row - first : row;
		/** @param {Value} value */
		const withRow = (value) => {
			const [, rows = 0, width = 0] = value.shape;
			if (place < 0 || place >= rows) return value;
			const data = value.data.slice();
			const start = (head * rows + place) * width;
			// Another output may be shorter or longer than the one the row was taken from.
			for (let i = 0; i < width; i++) data[start + i] = chosen[i] ?? 0;
			return { shape: value.shape, data };
		};
		return { [`${attention}.weights`]: withRow };
	};
}
