/**
 * Greedy search, beam search and sampling over any model that takes a step: `regard.decode`, for one source.
 *
 *     score = log P / lp + cp,   lp = ((5 + length) / 6) ** alpha,   cp = beta · Σ log(min(attention received, 1))
 */

import { uniforms } from "./random.js";

const IMPOSSIBLE = -1e9;
const NUM_SHOWN = 20;
const MIN_COVERAGE = 1e-9;
const LARGEST_UNIFORM = 1 - 2 ** -23;

/** @typedef {import("./transformer.js").Engine} Engine */
/** @typedef {ReturnType<Engine["start"]>} State */
/** What a hypothesis wrote. @typedef {{ total: number, tokens: number[], values: number[], attention: Float32Array[] }} Row */
/** A candidate: total, row, token, log-probability of the token. @typedef {[number, number, number, number]} Choice */

/** @param {number} length @param {number} alpha */
export const lengthPenalty = (length, alpha) => ((5 + length) / 6) ** alpha;

/** @param {Float32Array} logits */
export function logSoftmax(logits) {
	let [largest, sum] = [-Infinity, 0];
	for (let i = 0; i < logits.length; i++) largest = Math.max(largest, /** @type {number} */ (logits[i]));
	for (let i = 0; i < logits.length; i++) sum += Math.exp(/** @type {number} */ (logits[i]) - largest);
	const shift = largest + Math.log(sum);
	const values = new Float64Array(logits);
	for (let i = 0; i < values.length; i++) values[i] = /** @type {number} */ (values[i]) - shift;
	return values;
}

/** The largest, best first, equal ones in the order of their tokens. @param {Float64Array} values @param {number} count @returns {[number, number][]} token and value */
function top(values, count) {
	/** @type {[number, number][]} */
	const found = [];
	let least = -Infinity;
	for (let token = 0; token < values.length; token++) {
		const value = /** @type {number} */ (values[token]);
		if (found.length === count && !(value > least)) continue;
		let at = found.length;
		while (at > 0 && value > /** @type {[number, number]} */ (found[at - 1])[1]) at--;
		found.splice(at, 0, [token, value]);
		if (found.length > count) found.pop();
		least = found[found.length - 1]?.[1] ?? -Infinity;
	}
	return found;
}

/** Whether the tokens contain the word without a gap. @param {number[]} tokens @param {number[]} word */
export function contains(tokens, word) {
	return tokens.some((_, at) => at + word.length <= tokens.length && word.every((token, i) => tokens[at + i] === token)) || !word.length;
}

/** How many tokens of the word the tokens end with. @param {number[]} tokens @param {number[]} word */
function overlap(tokens, word) {
	for (let size = Math.min(word.length, tokens.length); size > 0; size--) {
		if (word.slice(0, size).every((token, i) => token === tokens[tokens.length - size + i])) return size;
	}
	return 0;
}

/** Whether some stretch comes three times or more in a row, and at least eight tokens in all. @param {number[]} tokens */
export function isLooping(tokens) {
	for (let period = 1; period <= tokens.length / 3; period++) {
		const needed = Math.max(3 * period, 8) - period;
		let run = 0;
		for (let place = period; place < tokens.length; place++) {
			run = tokens[place] === tokens[place - period] ? run + 1 : 0;
			if (run >= needed) return true;
		}
	}
	return false;
}

/** The tokens that would repeat an n-gram of this size. @param {number[]} tokens @param {number} size */
function repeats(tokens, size) {
	/** @type {number[]} */
	const found = [];
	const context = size > 1 ? tokens.slice(tokens.length - size + 1) : [];
	if (!size || context.length < size - 1 || tokens.length < size - 1) return found;
	for (let end = size - 1; end < tokens.length; end++) {
		if (context.every((token, i) => tokens[end - size + 1 + i] === token)) found.push(tokens[end] ?? 0);
	}
	return found;
}

/** Required words, their progress read off the tokens: Post and Vilar 2018. */
class Required {
	/** @param {number[][]} words */
	constructor(words) {
		/** @type {number[][]} */
		this.words = [];
		// A word inside another one appears with it.
		for (const word of [...words].sort((a, b) => b.length - a.length)) {
			if (!this.words.some((other) => contains(other, word))) this.words.push(word);
		}
		this.total = this.words.reduce((sum, word) => sum + word.length, 0);
	}

	/** @param {number[]} tokens */
	progress(tokens) {
		return this.words.map((word) => (contains(tokens, word) ? word.length : overlap(tokens, word)));
	}

	/** Tokens that surely suffice: finish the longest word begun, then write the others. @param {number[]} progress */
	need(progress) {
		const missing = this.words.map((word, i) => [word.length, progress[i] ?? 0]).filter(([size = 0, done = 0]) => done < size);
		return missing.reduce((sum, [size = 0]) => sum + size, 0) - Math.max(0, ...missing.map(([, done = 0]) => done));
	}
}

/** Fill the slots with the best candidates of each need in turn, the least need first. @param {[number, Choice][]} candidates @param {number} slots */
function shareSlots(candidates, slots) {
	/** @type {Map<number, Choice[]>} */
	const banks = new Map();
	for (const [need, choice] of candidates.sort((a, b) => b[1][0] - a[1][0])) banks.set(need, [...(banks.get(need) ?? []), choice]);
	const order = [...banks.keys()].sort((a, b) => a - b).map((need) => banks.get(need) ?? []);
	/** @type {Choice[]} */
	const dealt = [];
	for (let turn = 0; order.some((bank) => turn < bank.length); turn++) for (const bank of order) dealt.push(...bank.slice(turn, turn + 1));
	return dealt.slice(0, slots).sort((a, b) => b[0] - a[0]);
}

/** One call of a search over one source. */
class Search {
	/** @param {Engine} engine @param {number[]} source @param {DecodeConfig} config @param {Constraints} constraints @param {StepRecord[] | null} history */
	constructor(engine, source, config, { prefix = [], required = [] }, history) {
		this.engine = engine;
		this.source = source;
		this.config = config;
		this.prefix = prefix;
		this.required = new Required(required);
		this.history = history;
		const { bos_id: bos, eos_id: eos, pad_id: pad } = engine.config;
		this.bos = bos;
		this.eos = eos;
		this.never = [bos, pad].filter((token) => token !== eos);
		this.limit = config.max_length || 2 * source.length + 50 + prefix.length + this.required.total;
		this.state = engine.start(source);
		/** @type {Row[]} */
		this.rows = [{ total: 0, tokens: [], values: [], attention: [] }];
		this.length = 0;
	}

	/** The log-probabilities of each row, and those with what is forbidden at -Infinity. */
	step() {
		const inputs = this.rows.map((row) => row.tokens[row.tokens.length - 1] ?? this.bos);
		const found = this.engine.step(inputs, this.state);
		this.state = found.state;
		const raw = found.logits.map(logSoftmax);
		if (this.history) {
			const best = raw.map((values) => top(values, NUM_SHOWN));
			this.history.push({
				beams: this.rows.map((row) => row.tokens),
				scores: this.rows.map((row) => row.total),
				top_tokens: best.map((each) => each.map(([token]) => token)),
				top_probabilities: best.map((each) => each.map(([, value]) => Math.exp(value))),
			});
		}
		const allowed = raw.map((values, i) => {
			const copy = values.slice();
			const gone = [...this.never, ...(this.length < this.config.min_length ? [this.eos] : [])];
			for (const token of [...gone, ...repeats(this.rows[i]?.tokens ?? [], this.config.no_repeat_ngram)]) copy[token] = -Infinity;
			return copy;
		});
		return { raw, allowed };
	}

	/** @param {Row} row @param {number} index @param {number} token @param {number} value @returns {Row} */
	extended(row, index, token, value) {
		const seen = this.state.state.attention[index];
		return { total: row.total + value, tokens: [...row.tokens, token], values: [...row.values, value], attention: seen ? [...row.attention, seen] : row.attention };
	}

	/** A finished output with its score. @param {Row} row @param {"end" | "length"} stop @param {Float32Array[]} seen attention of all steps @returns {Hypothesis} */
	hypothesis(row, stop, seen) {
		const total = row.values.reduce((sum, value) => sum + value, 0);
		let score = total / lengthPenalty(row.values.length, this.config.length_penalty);
		if (this.config.coverage_penalty) {
			const covered = this.source.map((_, i) => seen.reduce((sum, weights) => sum + (weights[i] ?? 0), 0));
			const logs = covered.map((each) => Math.log(Math.min(Math.max(each, MIN_COVERAGE), 1)));
			score += this.config.coverage_penalty * logs.reduce((sum, each) => sum + each, 0);
		}
		return { tokens: row.tokens, score, log_probability: total, token_log_probabilities: row.values, stop, attention: row.attention.slice(0, row.tokens.length) };
	}

	/** Beam search as Wu et al. 2016 and the paper use it. @returns {Hypothesis[]} */
	beam() {
		const { config, eos } = this;
		let slots = config.beam + this.required.total;
		let isSettling = false;
		/** @type {Hypothesis[]} */
		const ended = [];
		/** @type {Hypothesis[]} */
		const cut = [];
		/** @param {number} index @param {number | null} end */
		const finish = (index, end) => {
			const row = this.rows[index];
			if (!row) return;
			const seen = this.state.state.attention[index];
			const values = end === null ? row.values : [...row.values, end];
			const weights = end === null || !seen ? row.attention : [...row.attention, seen];
			(end === null ? cut : ended).push(this.hypothesis({ ...row, values }, end === null ? "length" : "end", weights));
		};
		for (;;) {
			const { raw, allowed } = this.step();
			const forced = this.prefix[this.length];
			const choices = forced === undefined ? this.choices(raw, allowed, slots) : this.forcedChoices(raw, forced);
			const isStuck = !choices.length || this.limit <= this.length;
			/** @type {Choice[]} */
			let kept = [];
			const finished = new Set();
			for (const choice of choices) {
				const [, index, token, value] = choice;
				if (token === eos && forced === undefined) {
					finished.add(index);
					finish(index, value);
					slots--;
					isSettling ||= ended.length >= config.n_best;
				} else if (!isStuck) kept.push(choice);
			}
			if (isStuck) this.rows.forEach((_, index) => finished.has(index) || finish(index, null));
			if (isSettling) {
				const scores = ended.map((each) => each.score).sort((a, b) => b - a);
				const [length, total] = [this.length + 1, kept[0]?.[0] ?? -Infinity];
				const alpha = config.length_penalty;
				// Each further token multiplies by a probability: no continuation can score above this.
				const hope = total / Math.max(lengthPenalty(length + 1, alpha), lengthPenalty(this.limit + 1, alpha));
				if (hope <= (scores[config.n_best - 1] ?? -Infinity)) kept = [];
			}
			if (!kept.length) {
				const best = [ended, cut].flatMap((several) => several.sort((a, b) => b.score - a.score));
				return best.slice(0, config.n_best);
			}
			this.rows = kept.map(([, index, token, value]) => this.extended(/** @type {Row} */ (this.rows[index]), index, token, value));
			this.state = this.engine.select(this.state, kept.map(([, index]) => index));
			this.length++;
		}
	}

	/** @param {Float64Array[]} raw @param {number} token @returns {Choice[]} */
	forcedChoices(raw, token) {
		return this.rows.map((row, index) => {
			const value = Math.max(raw[index]?.[token] ?? IMPOSSIBLE, IMPOSSIBLE);
			return [row.total + value, index, token, value];
		});
	}

	/** The best candidates, as many as there are slots, ends among them. @param {Float64Array[]} raw @param {Float64Array[]} allowed @param {number} slots @returns {Choice[]} */
	choices(raw, allowed, slots) {
		const { required } = this;
		const room = Math.max(this.limit - this.length - 1, 0);
		/** @type {[number, Choice][]} */
		const bank = [];
		/** @type {Choice[]} */
		const pool = [];
		this.rows.forEach((row, index) => {
			const best = new Map(top(/** @type {Float64Array} */ (allowed[index]), slots).filter(([, value]) => value > -Infinity));
			if (!required.words.length) {
				for (const [token, value] of best) pool.push([row.total + value, index, token, value]);
				return;
			}
			required.progress(row.tokens).forEach((done, i) => {
				const token = required.words[i]?.[done];
				if (token !== undefined) best.set(token, Math.max(raw[index]?.[token] ?? IMPOSSIBLE, IMPOSSIBLE));
			});
			for (const [token, value] of best) {
				const isEnd = token === this.eos;
				const missing = required.need(required.progress(isEnd ? row.tokens : [...row.tokens, token]));
				const need = isEnd && missing ? Infinity : missing;
				if (need <= room) bank.push([need, [row.total + value, index, token, value]]);
			}
		});
		if (required.words.length) return shareSlots(bank, slots);
		return pool.sort((a, b) => b[0] - a[0]).slice(0, slots);
	}

	/** The single best token each time, or one that is drawn. @param {(() => number) | null} draw @returns {Hypothesis} */
	single(draw) {
		for (;;) {
			const { raw, allowed } = this.step();
			const [row, values, own] = [this.rows[0], allowed[0], raw[0]];
			if (!row || !values || !own) throw new Error("a search needs a row");
			const forced = this.prefix[this.length];
			// Every step has a draw of its own, a forced one too.
			const uniform = draw?.();
			const token = forced ?? (uniform === undefined ? (top(values, 1)[0]?.[0] ?? this.eos) : this.drawn(values, row.tokens.slice(this.prefix.length), uniform));
			const value = forced === undefined ? (draw ? (own[token] ?? 0) : (values[token] ?? 0)) : Math.max(own[token] ?? 0, IMPOSSIBLE);
			const seen = this.state.state.attention[0];
			const weights = seen ? [...row.attention, seen] : row.attention;
			if (token === this.eos && value > -Infinity && forced === undefined) return this.hypothesis({ ...row, values: [...row.values, value] }, "end", weights);
			if (this.length === this.limit || value === -Infinity) return this.hypothesis(row, "length", row.attention);
			this.rows = [this.extended(row, 0, token, value)];
			this.length++;
		}
	}

	/** Penalties, temperature, top-k and top-p, then the cumulative distribution inverted. @param {Float64Array} values @param {number[]} written @param {number} uniform */
	drawn(values, written, uniform) {
		const { temperature, top_k: topK, top_p: topP, presence_penalty: presence, frequency_penalty: frequency } = this.config;
		const scores = values.slice();
		for (const token of new Set(written)) {
			const count = written.filter((each) => each === token).length;
			scores[token] = (scores[token] ?? 0) - presence - frequency * count;
		}
		const largest = scores.reduce((most, score) => Math.max(most, score), -Infinity);
		const shares = scores.map((score) => Math.exp((score - largest) / temperature));
		const order = Array.from(shares.keys()).sort((a, b) => (shares[b] ?? 0) - (shares[a] ?? 0) || a - b);
		let kept = topK > 0 ? order.slice(0, topK) : order;
		if (topP < 1) {
			const needed = topP * kept.reduce((sum, token) => sum + (shares[token] ?? 0), 0);
			let sum = 0;
			kept = kept.filter((token) => {
				const isWanted = sum < needed;
				sum += shares[token] ?? 0;
				return isWanted;
			});
		}
		kept.sort((a, b) => a - b);
		const wanted = Math.min(uniform, LARGEST_UNIFORM) * kept.reduce((sum, token) => sum + (shares[token] ?? 0), 0);
		let sum = 0;
		return kept.find((token) => (sum += shares[token] ?? 0) > wanted) ?? this.eos;
	}
}

/** The best outputs of a source, best first. @param {Engine} engine @param {number[]} source empty for a decoder-only model @param {DecodeConfig} config @param {Constraints} [constraints] @param {StepRecord[] | null} [history] @param {number} [number] of the sentence: it and the seed decide what is drawn @returns {Hypothesis[]} */
export function search(engine, source, config, constraints = {}, history = null, number = 0) {
	if (config.method === "beam") return new Search(engine, source, config, constraints, history).beam();
	const isDrawn = config.method === "sample";
	const found = Array.from({ length: isDrawn ? config.n_best : 1 }, (_, path) => {
		const draw = isDrawn ? uniforms([config.seed ?? 0, number, path]) : null;
		return new Search(engine, source, config, constraints, path ? null : history).single(draw);
	});
	return found.sort((a, b) => b.score - a.score);
}
