/**
 * The way of a text through a model: split, then for each sentence normalise, protect, tokenize, search, detokenize,
 * restore, then join. `regard.translate.pipeline` and `regard.translate.sentence`, read downwards.
 */

import { Normalised, Normaliser } from "./normalise.js";
import { MaskedSentence, asAPart } from "./protect.js";
import { findProtected } from "./protected.js";
import { edges, stripped } from "./rules.js";
import { isLooping, search } from "./search.js";
import { hasWord, split } from "./sentences.js";
import { align } from "./words.js";

/** @typedef {import("./transformer.js").Engine} Engine */
/** @typedef {import("./tokenizer.js").Tokenizer} Tokenizer */
/** @typedef {import("./words.js").Link} Link */
/** @typedef {{ text: string, written: string, tokens: number[], hypothesis: Hypothesis | null, alignment: Link[] }} Candidate */
/** What one search depends on. @typedef {{ source: number[], decode: DecodeConfig, constraints: Constraints, number: number }} SearchInput */
/** @typedef {{ given: string, normalised: string, protected: string, candidates: Candidate[], flags: string[], input: SearchInput | null, history: StepRecord[], parts: Sentence[], start: number, sourceStart: number }} Sentence */

/** tokens in a row that may not come twice after an output repeated itself */
const NO_REPEAT = 3;
/** times the beam is doubled to find candidates with different texts */
const WIDENINGS = 2;
const MAX_HYPOTHESES = 256;

export class Translator {
	/** @param {Engine} engine @param {any} manifest config.json @param {Tokenizer} source @param {Tokenizer} target */
	constructor(engine, manifest, source, target) {
		this.engine = engine;
		this.manifest = manifest;
		this.source = source;
		this.target = target;
		this.normaliser = new Normaliser(manifest.source_language, source);
		const { position, max_positions: most } = engine.config;
		/** of the newest search @type {StepRecord[]} */
		this.history = [];
		this.longest = position === "learned" ? Math.min(manifest.longest, most - 1) : manifest.longest;
	}

	/** @param {string} text @param {DecodeConfig} decode @param {{ prefix?: number[], split?: boolean, plain?: boolean }} [options] prefix: tokens that the output begins with; split: into sentences; plain: the model reads the text as it is */
	translate(text, decode, { prefix = [], split: isSplit = true, plain = false } = {}) {
		/** @param {string} part */
		const count = (part) => this.source.encode(this.normaliser.normalise(part).text).length;
		const parts = split(text, this.manifest.source_language, count, this.longest, isSplit && !prefix.length);
		if (prefix.length && parts.sentences.length > 1) throw new Error("a text with a forced word must be one sentence; shorten it or leave the word out");
		let [sourceStart, joined] = [0, ""];
		const sentences = parts.sentences.map((given, place) => {
			joined += parts.separators[place];
			sourceStart += parts.separators[place]?.length ?? 0;
			const found = parts.tooLong.has(place) ? copied(given, given, ["copied"]) : this.sentence(given, decode, prefix, place, plain);
			if (parts.cut.has(place)) found.flags.unshift("cut");
			Object.assign(found, { sourceStart, start: joined.length });
			joined += found.candidates[0]?.text ?? "";
			sourceStart += given.length;
			return found;
		});
		return { text: joined + parts.separators[parts.separators.length - 1], sentences };
	}

	/** @param {string} given @param {DecodeConfig} decode @param {number[]} prefix @param {number} number @param {boolean} plain @returns {Sentence} */
	sentence(given, decode, prefix, number, plain) {
		const spans = plain ? [] : findProtected(given, (sign) => this.normaliser.knows(sign));
		const normalised = plain ? new Normalised(given) : this.normaliser.normalise(given, spans.map((each) => each.span));
		const masked = new MaskedSentence(given, normalised, spans);
		if (!masked.hasWords && masked.spans.length && !prefix.length) return copied(given, masked.text, []);
		const source = [...this.source.beginning, ...this.source.encode(masked.text), this.engine.config.eos_id];
		const constraints = { prefix: prefix.length ? prefix : [...this.target.beginning] };
		/** @type {SearchInput} */
		let input = { source, decode, constraints, number };
		let found = this.search(masked, input);
		let flags = [];
		const tokens = found[0]?.tokens ?? [];
		if (!decode.no_repeat_ngram && decode.method !== "sample" && isLooping(tokens) && !isLooping(this.source.encode(given))) {
			flags.push("repetition");
			input = { ...input, decode: { ...decode, no_repeat_ngram: NO_REPEAT } };
			found = this.search(masked, input);
		}
		const required = masked.standIns.map((each) => this.target.encode(each.text));
		const needed = required.reduce((sum, word) => sum + word.length, constraints.prefix.length);
		if (decode.method === "beam" && found.every((each) => masked.lacks(each.written)) && (!decode.max_length || needed <= decode.max_length)) {
			input = { ...input, constraints: { ...constraints, required } };
			found = this.search(masked, input);
		}
		const { history } = this;
		/** @type {Sentence[]} */
		let parts = [];
		let whole = found.filter((each) => !masked.lacks(each.written));
		if (!whole.length && !prefix.length) {
			parts = this.parts(masked, decode, number);
			whole = [joined(masked, parts)];
			flags.push("parts");
		} else if (!whole.length) {
			whole = found;
			flags.push("lost");
		}
		if (whole[0]?.hypothesis?.stop === "length" && !decode.max_length) flags.push("length");
		return { given, normalised: normalised.text, protected: masked.text, candidates: whole, flags, input: parts.length ? null : input, history, parts, start: 0, sourceStart: 0 };
	}

	/** The n best with different texts; where too many are alike the beam widens. @param {MaskedSentence} masked @param {SearchInput} input @returns {Candidate[]} */
	search(masked, { source, decode, constraints, number }) {
		const { n_best: numBest } = decode;
		/** @param {DecodeConfig} config */
		const found = (config) => {
			this.history = [];
			return search(this.engine, source, config, constraints, this.history, number).map((each) => this.candidate(masked, each));
		};
		if (numBest === 1 || decode.method !== "beam") return found(decode);
		/** @type {Candidate[]} */
		let different = [];
		for (let i = 0, { beam } = decode; i <= WIDENINGS && different.length < numBest; i++, beam = Math.min(2 * beam, MAX_HYPOTHESES)) {
			const byText = new Map();
			for (const each of found({ ...decode, beam, n_best: beam })) {
				const text = stripped(each.text).replace(/\s+/g, " ");
				if (!byText.has(text)) byText.set(text, each);
			}
			different = [...byText.values()].slice(0, numBest);
		}
		return different;
	}

	/** Detokenize and restore. @param {MaskedSentence} masked @param {Hypothesis} hypothesis @returns {Candidate} */
	candidate(masked, hypothesis) {
		const written = this.target.decode(hypothesis.tokens);
		/** @param {number} place */
		const within = (place) => Math.min(place, masked.text.length);
		/** @type {Span[]} */
		const spans = this.source.spansIn(masked.text).map(([start, end]) => [within(start), within(end)]);
		const beginning = this.source.beginning.map(() => /** @type {Span} */ ([0, 0]));
		let links = align(hypothesis.attention, masked.text, [...beginning, ...spans], written, this.target.spans(hypothesis.tokens));
		let text = written;
		if (masked.spans.length || masked.inCapitals) {
			const restored = masked.restore(written, links);
			text = restored.text;
			links = links.map((link) => ({ ...link, target: restored.moved(link.target) }));
		}
		links = links.map((link) => ({ ...link, source: masked.givenSpan(link.source) }));
		return { text, written, tokens: hypothesis.tokens, hypothesis, alignment: links };
	}

	/** Translations of what stands between the protected spans. @param {MaskedSentence} masked @param {DecodeConfig} decode @param {number} number */
	parts(masked, decode, number) {
		return masked.outside().map(stripped).filter(hasWord).map((part) => this.sentence(part, decode, [], number, false));
	}

	/** What the encoder reads of a text; a blank to fill is one token. @param {string} text */
	sourceIds(text) {
		const read = this.engine.model.hasDecoder ? this.normaliser.normalise(text).text : text;
		const { mask } = this.manifest.tokenizer;
		const parts = mask ? read.split(mask) : [read];
		const sign = mask ? this.source.idOf(mask) : undefined;
		if (parts.length > 1 && sign === undefined) throw new Error(`the tokenizer must have the token ${mask}: it has not`);
		const ids = parts.length > 1 && sign !== undefined ? this.source.encodeAround(parts, sign) : this.source.encode(read);
		return [...this.source.beginning, ...ids, this.engine.config.eos_id];
	}
}

/** The sentences of a text as the model read them: parts stand for a sentence that was translated in parts. @param {Sentence} sentence @returns {Sentence[]} */
export const searchedOf = (sentence) => (sentence.parts.length ? sentence.parts.flatMap(searchedOf) : [sentence]);

/** The translated parts, joined around the protected spans of a sentence. @param {MaskedSentence} masked @param {Sentence[]} parts @returns {Candidate} */
function joined(masked, parts) {
	const made = parts.flatMap((part) => part.candidates.slice(0, 1));
	const left = made.values();
	let text = "";
	/** @type {Link[]} */
	const links = [];
	/** @param {Span} span @param {number} by @returns {Span} */
	const shifted = ([start, end], by) => [start + by, end + by];
	masked.outside().forEach((between, place) => {
		const part = stripped(between);
		const [before, after] = part ? edges(between) : [between.length, 0];
		text += between.slice(0, before);
		const best = hasWord(part) ? left.next().value : undefined;
		const written = best ? asAPart(best.text, part) : part;
		const start = before + (masked.spans[place - 1]?.span[1] ?? 0);
		for (const { source, target, weight } of best?.alignment ?? []) {
			if (target[1] <= written.length) links.push({ source: shifted(source, start), target: shifted(target, text.length), weight });
		}
		text += written + between.slice(between.length - after);
		const next = masked.spans[place];
		if (next) links.push({ source: next.span, target: [text.length, text.length + next.text.length], weight: 1 });
		text += next?.text ?? "";
	});
	return { text, written: made.map((one) => one.written).join(" "), tokens: made.flatMap((one) => one.tokens), hypothesis: null, alignment: links };
}

/** A sentence that is not translated. @param {string} given @param {string} read @param {string[]} flags @returns {Sentence} */
function copied(given, read, flags) {
	const whole = /** @type {Span} */ ([0, given.length]);
	const candidates = [{ text: given, written: read, tokens: [], hypothesis: null, alignment: [{ source: whole, target: whole, weight: 1 }] }];
	return { given, normalised: new Normalised(given).text, protected: read, candidates, flags, input: null, history: [], parts: [], start: 0, sourceStart: 0 };
}
