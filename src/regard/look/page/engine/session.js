/** The runs behind the page, and its questions about them: `regard.look.session`, `document` and `server`, in the page itself. */

import { MaskedSentence } from "./protect.js";
import { findProtected } from "./protected.js";
import { knownSigns } from "./normalise.js";
import { Translator, searchedOf } from "./pipeline.js";
import { Recurrent } from "./recurrent.js";
import { search } from "./search.js";
import { Tokenizer, wordsOf } from "./tokenizer.js";
import { Trace } from "./trace.js";
import { Engine, Transformer } from "./transformer.js";
import { Weights } from "./weights.js";
import { attentionsOf, editsAt, planOf } from "./whatif.js";

/** @typedef {import("./whatif.js").Change} Change */
/** @typedef {import("./whatif.js").Plan} Plan */
/** What Python wrote of a model: its config.json, and what a document says of every run. @typedef {{ name: string, manifest: any, template: any }} About */

const NUM_TOP = 20;
const NUM_NEIGHBOURS = 8;
const MAX_KEPT = 8;
const PARAMETER = "param:";

/** A loaded model. */
export class Subject {
	/** @param {About} about @param {{ weights: ArrayBuffer, source: ArrayBuffer, target: ArrayBuffer, vocabularies?: Record<string, number>[] }} files @param {boolean} [isPlain] */
	constructor(about, { weights, source, target, vocabularies = [] }, isPlain = false) {
		this.about = about;
		const { manifest } = about;
		this.manifest = manifest;
		const isRecurrent = ["rnn", "gru", "lstm"].includes(manifest.model.architecture);
		this.config = /** @type {EngineConfig} */ (isRecurrent ? { ...manifest.model, num_heads: 1 } : manifest.model);
		this.weights = new Weights(weights, this.config, isPlain);
		/** @type {Transformer} a recurrent model has the same methods and a state of its own */
		this.model = isRecurrent ? /** @type {any} */ (new Recurrent(this.weights)) : new Transformer(this.weights);
		const { kind, prompt, source_beginning: first, target_beginning: second } = manifest.tokenizer;
		const isJson = kind === "tokenizers";
		this.source = new Tokenizer(source, { isJson, prompt, beginning: first, ...(vocabularies[0] ? { vocabulary: vocabularies[0] } : {}) });
		const theirs = vocabularies[1] ?? vocabularies[0];
		this.target = new Tokenizer(target, { isJson, beginning: second, ...(theirs ? { vocabulary: theirs } : {}) });
		this.translates = manifest.task === "translate" && this.model.hasEncoder && this.model.hasDecoder;
		this.translator = new Translator(new Engine(this.model), manifest, this.source, this.target);
	}

	/** A sentence as the model reads it. @param {string} given */
	masked(given) {
		const { normaliser } = this.translator;
		const spans = findProtected(given, (sign) => normaliser.knows(sign));
		return new MaskedSentence(given, normaliser.normalise(given, spans.map((each) => each.span)), spans);
	}
}

/** One sentence through one model, with every value. */
export class Run {
	/** @param {number} number @param {Subject} subject @param {string} text @param {DecodeConfig} decode @param {Plan | null} plan @param {Run | null} original @param {number} sentence @param {{ plain?: boolean, split?: boolean }} [options] */
	constructor(number, subject, text, decode, plan, original, sentence, options = {}) {
		this.options = options;
		this.number = number;
		this.subject = subject;
		this.text = text;
		this.plan = plan;
		this.original = original;
		this.sentence = sentence;
		this.decode = decode;
		/** @type {StepRecord[]} */
		this.history = [];
		/** @type {Hypothesis[]} */
		this.hypotheses = [];
		/** @type {import("./pipeline.js").Sentence[]} */
		this.sentences = [];
		/** @type {string | null} the whole text that `translate` gives */
		this.translation = null;
		/** @type {number[]} */
		this.source = [];
		this.numGiven = 0;
		/** @type {Change[]} */
		this.changes = [];
		const edits = plan?.edits ?? [];
		const engine = edits.length ? new Engine(subject.model, (first) => editsAt(edits, first), !plan?.seesFuture) : new Engine(subject.model);
		const translator = new Translator(engine, subject.manifest, subject.source, subject.target);
		if (subject.translates) this.follow(translator);
		else this.goOn(translator);
		this.trace = subject.model.trace(this.source, this.output, new Trace(editsAt(edits, 0)));
	}

	/** Translate the text; one of its sentences is shown. @param {Translator} translator */
	follow(translator) {
		const { plan, sentence, original } = this;
		const found = translator.translate(this.text, this.decode, { ...this.options, prefix: plan?.prefix ?? [], split: (this.options.split ?? true) && original === null });
		this.sentences = found.sentences.flatMap(searchedOf);
		this.translation = found.text;
		const chosen = this.sentences[sentence];
		const { input } = chosen ?? { input: null };
		this.source = input?.source ?? [...translator.source.beginning, this.subject.config.eos_id];
		if (!chosen || !input) return;
		this.history = chosen.history;
		this.hypotheses = chosen.candidates.flatMap((each) => each.hypothesis ?? []);
	}

	/** A model that does not translate. @param {Translator} translator */
	goOn(translator) {
		const { model, target, manifest } = this.subject;
		this.source = model.hasEncoder ? translator.sourceIds(this.text) : [];
		const given = model.hasEncoder ? [] : target.encode(knownSigns(this.text, target));
		this.numGiven = given.length;
		const length = this.source.length + given.length;
		if (length > manifest.longest) throw new Error(`a sentence must have at most ${manifest.longest} tokens: got ${length}; look at a part of it`);
		if (!model.hasDecoder) return;
		const prefix = this.plan?.prefix.length ? this.plan.prefix : given;
		this.hypotheses = search(translator.engine, this.source, this.decode, { prefix }, this.history);
	}

	/** Tokens of the target without beginning and end. */
	get output() {
		return this.hypotheses[0]?.tokens ?? [];
	}

	/** The token at each position that the full pass has scores for; a blank's most probable one. */
	get atPlaces() {
		const { model, config, source, manifest } = this.subject;
		if (model.hasDecoder) return [...this.output, config.eos_id];
		const blank = manifest.tokenizer.mask ? source.idOf(manifest.tokenizer.mask) : undefined;
		return this.source.map((id, i) => (id === blank ? (this.best(i, 1)[0]?.[0] ?? id) : id));
	}

	get written() {
		const { target, source, model } = this.subject;
		return (model.hasDecoder ? target : source).decode(model.hasDecoder ? this.output : this.atPlaces);
	}

	/** The most probable tokens at a position of the full pass. @param {number} row @param {number} count @returns {[number, number][]} */
	best(row, count) {
		const values = this.values("probabilities");
		const size = this.subject.model.vocabularySize;
		const own = values.subarray(row * size, (row + 1) * size);
		// Numbers alone are sorted twenty times as fast as places by their numbers.
		const least = own.slice().sort()[Math.max(0, size - count)] ?? 0;
		const places = Array.from(own.keys()).filter((token) => (own[token] ?? 0) >= least);
		const order = places.sort((a, b) => (own[b] ?? 0) - (own[a] ?? 0) || a - b);
		return order.slice(0, count).map((token) => [token, own[token] ?? 0]);
	}

	/** @param {string} name */
	values(name) {
		const found = this.trace.values.get(name);
		if (!found) throw new Error(`The trace has no ${name}.`);
		return found.data;
	}

	/** The text of the sentence at each stage. */
	stages() {
		const chosen = this.sentences[this.sentence];
		if (!chosen) return null;
		const [best] = chosen.candidates;
		return { given: chosen.given, normalised: chosen.normalised, protected: chosen.protected, written: best?.written ?? "", restored: best?.text ?? "" };
	}

	/** The final text of the sentence. */
	get restored() {
		return this.stages()?.restored ?? this.written;
	}

	/** @param {number[]} tokens @param {number[]} probabilities */
	named(tokens, probabilities) {
		const strings = (this.subject.model.hasDecoder ? this.subject.target : this.subject.source).tokenStrings(tokens);
		return tokens.map((token, i) => ({ token, token_string: strings[i] ?? "", probability: probabilities[i] ?? 0 }));
	}

	/** The description of the run for the page; its form is that of `regard.look.document`. */
	document() {
		const { subject, original } = this;
		const { source, target, model, config } = subject;
		/** @param {Tokenizer} tokenizer @param {number[]} tokens @param {string} text */
		const side = (tokenizer, tokens, text) => {
			const strings = tokenizer.tokenStrings(tokens);
			return { text, tokens, token_strings: strings, words: wordsOf(tokens, strings, tokenizer.specialIds) };
		};
		const stages = this.stages();
		/** @type {Map<string, number>} */
		let before = new Map();
		const steps = this.history.map((record) => {
			const beams = record.beams.map((tokens, i) => ({
				tokens,
				token_strings: target.tokenStrings(tokens),
				score: record.scores[i],
				parent: tokens.length ? (before.get(tokens.slice(0, -1).join()) ?? null) : null,
			}));
			before = new Map(record.beams.map((tokens, i) => [tokens.join(), i]));
			return { beams, top: record.top_tokens.map((tokens, i) => this.named(tokens, record.top_probabilities[i] ?? [])) };
		});
		const size = model.vocabularySize;
		const probabilities = this.values("probabilities");
		return {
			...subject.about.template,
			run: this.number,
			title: this.text,
			search: model.hasDecoder ? this.decode : null,
			stages,
			sentences: this.sentences.map((each) => each.given),
			sentence: this.sentence,
			result: this.translation ?? this.written,
			source: this.source.length ? side(source, this.source, stages?.protected ?? this.text) : null,
			target: model.hasDecoder
				? { ...side(target, [config.bos_id, ...this.output], this.written), num_given: this.numGiven, stop: this.hypotheses[0]?.stop ?? "end" }
				: null,
			tensors: Object.fromEntries([...this.trace.values].map(([name, { shape }]) => [name, { shape }])),
			hidden: { "encoder.self": null, "decoder.self": this.plan?.seesFuture ? null : "future", cross: null },
			steps,
			hypotheses: this.hypotheses.map((each) => ({ ...each, attention: undefined, token_strings: target.tokenStrings(each.tokens), text: target.decode(each.tokens) })),
			output: this.atPlaces.map((token, row) => {
				const best = this.best(row, NUM_TOP);
				const [chosen] = this.named([token], [probabilities[row * size + token] ?? 0]);
				return { ...chosen, top: this.named(best.map(([each]) => each), best.map(([, share]) => share)) };
			}),
			changes: original && { edits: this.changes, original: original.number, original_text: original.restored, text: this.restored },
			compare: null,
			flags: this.sentences.flatMap((each) => each.flags),
		};
	}
}

export class Session {
	/** @param {(number: number) => Promise<Subject>} subject loads a model by its number @param {{ text: string, sentence: number, decode: DecodeConfig[], plain: boolean, split: boolean } | null} first what the page begins with */
	constructor(subject, first) {
		this.subject = subject;
		this.first = first;
		this.options = { plain: first?.plain ?? false, split: first?.split ?? true };
		/** @type {Map<number, Run>} */
		this.runs = new Map();
		// The runs that the page carries keep their numbers: one for each of its models.
		this.next = 100;
	}

	/** A run that the page carries is made when it is first asked for. @param {number} number @returns {Promise<Run>} */
	async run(number) {
		let found = this.runs.get(number);
		if (!found && this.first?.decode[number]) {
			found = new Run(number, await this.subject(number), this.first.text, /** @type {DecodeConfig} */ (this.first.decode[number]), null, null, this.first.sentence, this.options);
			this.runs.set(number, found);
		}
		if (!found) throw new Error(`run ${number} is no longer kept; ask for its changes again`);
		return found;
	}

	/** @param {Run} run */
	keep(run) {
		this.runs.set(run.number, run);
		const old = [...this.runs.values()].filter((each) => each.number >= 100 && each !== run.original).map((each) => each.number);
		if (old.length > MAX_KEPT) this.runs.delete(Math.min(...old));
		return run.document();
	}

	/** Another text. @param {number} model @param {string} text @param {Partial<DecodeConfig>} [settings] */
	async text(model, text, settings = {}) {
		const subject = await this.subject(model);
		if (!text.trim()) throw new Error("a sentence to look at must have words: got none; give some text");
		const decode = { ...subject.manifest.decode, ...this.first?.decode[model], ...settings };
		decode.seed ??= this.first?.decode[0]?.seed ?? 0;
		return this.keep(new Run(this.next++, subject, text, decode, null, null, 0, this.options));
	}

	/** @param {number} number of a run @param {number} sentence */
	async sentence(number, sentence) {
		const run = await this.run(number);
		const { subject, text, decode } = run.original ?? run;
		return this.keep(new Run(this.next++, subject, text, decode, null, null, sentence, this.options));
	}

	/** A run as it was at first, with these changes, in the order they were made. @param {number} number @param {Change[]} changes */
	async whatif(number, changes) {
		const run = await this.run(number);
		const original = run.original ?? run;
		return this.keep(changes.length ? this.changed(original, changes) : original);
	}

	/** @param {Run} original @param {Change[]} changes @returns {Run} */
	changed(original, changes) {
		const given = original.stages()?.given ?? original.text;
		const plan = planOf(changes, original.subject, given, (count) => (count ? this.changed(original, changes.slice(0, count)) : original).output);
		const run = new Run(this.next++, original.subject, plan.text, { ...original.decode, ...plan.settings }, plan, original, 0, this.options);
		run.changes = changes;
		return run;
	}

	/** @param {number} number @param {string} name a name of the trace, or param: and the path of a parameter @param {number} [row] */
	async tensor(number, name, row) {
		const run = await this.run(number);
		if (name.startsWith(PARAMETER)) return run.subject.weights.parameter(name.slice(PARAMETER.length), row).slice();
		const found = run.trace.values.get(name);
		if (!found) throw new Error(`The trace has no ${name}.`);
		if (row === undefined) return found.data.slice();
		const width = found.data.length / (found.shape[0] ?? 1);
		return found.data.slice(row * width, (row + 1) * width);
	}

	/** The probability of each token of a word at a step, given the tokens before it. @param {number} number @param {number} step @param {string} text */
	async probability(number, step, text) {
		const run = await this.run(number);
		const { target, model } = run.subject;
		const tokens = target.encode(text.trim());
		if (!tokens.length) throw new Error("a word must have letters: got an empty one; type another");
		const size = model.vocabularySize;
		const edits = editsAt(run.plan?.edits ?? [], 0);
		const probabilities = tokens.map((token, count) => {
			const trace = count ? model.trace(run.source, [...run.output.slice(0, step), ...tokens.slice(0, count)], new Trace(edits)) : run.trace;
			const values = trace.values.get("probabilities")?.data ?? new Float32Array(0);
			return values[(step + count) * size + token] ?? 0;
		});
		return { step, tokens, token_strings: target.tokenStrings(tokens), probabilities };
	}

	/** The tokens whose rows of the embedding table have the largest cosine with this one's. @param {number} number @param {number} token @param {"source" | "target"} side */
	async neighbours(number, token, side) {
		const { subject } = await this.run(number);
		const table = subject.weights.parameter(`${side}.embedding.weight`);
		const width = subject.config.d_model;
		const own = table.subarray(token * width, (token + 1) * width);
		/** @param {number} row */
		const products = (row) => {
			let [dot, square] = [0, 0];
			for (let i = 0; i < width; i++) {
				const value = /** @type {number} */ (table[row * width + i]);
				dot += value * /** @type {number} */ (own[i]);
				square += value * value;
			}
			return [dot, Math.sqrt(square)];
		};
		const length = products(token)[1] ?? 0;
		const cosines = Array.from({ length: table.length / width }, (_, row) => {
			const [dot = 0, theirs = 0] = products(row);
			return row === token ? -Infinity : dot / Math.max(theirs * length, 1e-30);
		});
		const nearest = Array.from(cosines.keys()).sort((a, b) => (cosines[b] ?? 0) - (cosines[a] ?? 0)).slice(0, NUM_NEIGHBOURS);
		const strings = subject[side].tokenStrings(nearest);
		return { neighbours: nearest.map((each, i) => ({ token: each, token_string: strings[i], cosine: cosines[each] })) };
	}

	/** The embeddings of the sentence in the plane of their first two principal components. @param {number} number */
	async plane(number) {
		const run = await this.run(number);
		const width = run.subject.config.d_model;
		const sides = /** @type {const} */ (["source", "target"]).filter((side) => run.trace.values.has(`${side}.embedding`));
		const rows = sides.flatMap((side) => {
			const values = run.values(`${side}.embedding`);
			return Array.from({ length: values.length / width }, (_, i) => values.subarray(i * width, (i + 1) * width));
		});
		const mean = Array.from({ length: width }, (_, i) => rows.reduce((sum, row) => sum + (row[i] ?? 0), 0) / rows.length);
		const centred = rows.map((row) => mean.map((value, i) => (row[i] ?? 0) - value));
		// The products of all rows have the same eigenvalues as their covariance, and fewer entries.
		const gram = centred.map((a) => centred.map((b) => a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)));
		const total = gram.reduce((sum, row, i) => sum + (row[i] ?? 0), 0);
		const axes = [0, 1].map(() => principal(gram));
		const points = rows.map((_, i) => axes.map(({ value, vector }) => Math.sqrt(Math.max(value, 0)) * (vector[i] ?? 0)));
		/** @type {Record<string, number[][] | number[]>} */
		const answer = { source: [], target: [], explained: axes.map(({ value }) => value / Math.max(total, 1e-30)) };
		for (const side of sides) answer[side] = points.splice(0, run.values(`${side}.tokens`).length);
		return answer;
	}

	/** How each head of an attention changes the log-probability of each token of the output. @param {number} number @param {string} attention */
	async effects(number, attention) {
		const run = await this.run(number);
		const { model, config } = run.subject;
		if (!attentionsOf(config).includes(attention)) throw new Error(`this model has no ${attention}`);
		const places = run.atPlaces.map((token, i) => [i, token]).slice(run.numGiven);
		const size = model.vocabularySize;
		const tiny = 2 ** -126;
		/** @param {Float32Array} values */
		const logs = (values) => places.map(([row = 0, token = 0]) => Math.log(Math.max(values[row * size + token] ?? 0, tiny)));
		const before = logs(run.values("probabilities"));
		const memory = attention.startsWith("decoder") ? (run.trace.values.get("memory")?.data ?? null) : null;
		const effects = Array.from({ length: config.num_heads }, (_, head) => {
			const plan = planOf([{ kind: "head-off", attention, head }], run.subject, run.text, () => []);
			const edits = editsAt([...(run.plan?.edits ?? []), ...plan.edits], 0);
			const trace = model.trace(run.source, run.output, new Trace(edits), memory);
			if (!model.hasDecoder) return [cosine(sentenceVector(trace, run), sentenceVector(run.trace, run)) - 1];
			return logs(trace.values.get("probabilities")?.data ?? new Float32Array(0)).map((value, i) => value - (before[i] ?? 0));
		});
		return { effects };
	}

	/** The cosine of each passage's vector with the sentence's, the nearest first. @param {number} number @param {string} passages one a line */
	async nearest(number, passages) {
		const run = await this.run(number);
		const { model, source, config } = run.subject;
		const own = sentenceVector(run.trace, run);
		const found = passages.split("\n").filter((each) => each.trim()).map((line) => {
			const trace = new Trace();
			model.encode([...source.beginning, ...source.encode(line.trim()), config.eos_id], trace);
			return { text: line.trim(), cosine: cosine(sentenceVector(trace, run), own) };
		});
		return { passages: found.sort((a, b) => b.cosine - a.cosine) };
	}
}

/** The mean of the tokens' vectors, or the first. @param {Trace} trace @param {Run} run */
function sentenceVector(trace, run) {
	const { shape: [size = 1, width = 1], data } = trace.values.get("memory") ?? { shape: [], data: new Float32Array(1) };
	const length = run.subject.manifest.pooling === "cls" ? 1 : size;
	return Array.from({ length: width }, (_, i) => {
		let sum = 0;
		for (let row = 0; row < length; row++) sum += data[row * width + i] ?? 0;
		return sum / length;
	});
}

/** @param {number[]} a @param {number[]} b */
function cosine(a, b) {
	const dot = a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
	return dot / Math.max(Math.hypot(...a) * Math.hypot(...b), 1e-30);
}

/** The largest eigenvalue and its vector, by repeated multiplication; the matrix is left without them. @param {number[][]} matrix */
function principal(matrix) {
	let vector = matrix.map((_, i) => 1 + ((i * 7919) % 13) / 13);
	let value = 0;
	for (let round = 0; round < 300; round++) {
		const next = matrix.map((row) => row.reduce((sum, each, i) => sum + each * (vector[i] ?? 0), 0));
		value = Math.hypot(...next);
		vector = next.map((each) => each / Math.max(value, 1e-30));
	}
	matrix.forEach((row, i) => row.forEach((_, j) => (row[j] = (row[j] ?? 0) - value * (vector[i] ?? 0) * (vector[j] ?? 0))));
	return { value, vector };
}
