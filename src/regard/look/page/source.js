/**
 * The source of the numbers: a served page asks its server; a saved page contains those of its first run, and asks the engine
 * that it carries for all others. No other module knows which.
 */

import { bytesOf } from "./engine/base64.js";
import { carriedEngine } from "./engine/client.js";
import { Tensor } from "./tensor.js";

const LIVE_ONLY = "This needs the model itself: start `regard look` and open the page it serves.";

/** The engine that the page carries; without one its server is asked. @type {ReturnType<typeof carriedEngine>} */
let engine = null;
let isLive = true;

export class DataSource {
	/** @param {any} embedded what a saved page carries, or null */
	constructor(embedded) {
		this.embedded = embedded;
		this.isLive = isLive = embedded === null || engine !== null;
		/** why this page holds no model @type {string} */
		this.hindrance = embedded?.hindrance ?? "";
		/** @type {Map<string, Promise<Tensor>>} */
		this.tensors = new Map();
		/** @type {Map<string, number[][]>} effects of heads */
		this.known = new Map();
		/** @type {Map<number, Doc>} */
		this.documents = new Map();
	}

	/** @returns {DataSource} */
	static here() {
		const carried = document.getElementById("regard-data");
		engine = carriedEngine();
		return new DataSource(carried ? JSON.parse(carried.textContent ?? "null") : null);
	}

	/** Which engine answers: that of Python, the page's own, or none. @returns {"python" | "javascript" | "none"} */
	get engineName() {
		return engine ? "javascript" : this.isLive ? "python" : "none";
	}

	/** The models that can be asked, by name. @returns {Promise<{ name: string, task: string, language: string }[]>} */
	async models() {
		return engine ? engine.models.filter((each) => each.step === null) : ask("api/models");
	}

	/** A text through a model, which is named by its place among `models`. @param {string} text @param {number} model @returns {Promise<Doc>} */
	async text(text, model) {
		return this.keep(await ask("api/text", { text, model }));
	}

	/** @param {Doc} document */
	keep(document) {
		this.documents.set(document.run, document);
		return document;
	}

	/** @returns {Promise<Doc>} */
	async open() {
		const document = this.embedded?.document ?? (await ask("api/document"));
		if (document.compare) this.keep(document.compare);
		return this.keep(document);
	}

	/** @param {number} run @returns {Doc} */
	document(run) {
		const found = this.documents.get(run);
		if (!found) throw new Error(`There is no run ${run} on this page.`);
		return found;
	}

	/**
	 * @param {string} name a name of the trace, or param: and the path of a parameter
	 * @param {number} run
	 * @param {number} [row] only this row: tables of a whole vocabulary are large
	 * @returns {Promise<Tensor>}
	 */
	tensor(name, run, row) {
		const key = `${run}/${name}/${row ?? ""}`;
		let found = this.tensors.get(key);
		if (!found) {
			found = this.load(name, run, row);
			this.tensors.set(key, found);
			found.catch(() => this.tensors.delete(key));
		}
		return found;
	}

	/** @param {string} name @param {number} run @param {number | undefined} row @returns {Promise<Tensor>} */
	async load(name, run, row) {
		const document = this.document(run);
		const shape = name.startsWith("param:") ? document.parameters[name.slice("param:".length)] : document.tensors[name]?.shape;
		if (!shape) throw new Error(`The trace has no ${name}.`);
		const isCarried = this.embedded && (!engine || name + (run ? `?run=${run}` : "") in this.embedded.tensors);
		const data = isCarried ? this.carried(name, run, row) : await ask(`api/tensor/${name}?run=${run}${row === undefined ? "" : `&row=${row}`}`);
		if (row === undefined) return new Tensor(name, shape, data);
		const width = shape[shape.length - 1] ?? 1;
		const one = data.length === width ? data : data.subarray(row * width, (row + 1) * width);
		return new Tensor(`${name}[${row}]`, [width], one);
	}

	/** @param {string} name @param {number} run @param {number | undefined} row @returns {Float32Array} */
	carried(name, run, row) {
		const kept = this.embedded.tensors;
		const ofRun = run ? `?run=${run}` : "";
		const found = (row === undefined ? undefined : kept[`${name}[${row}]${ofRun}`]) ?? kept[name + ofRun];
		if (found === undefined) throw new Error(`This file does not carry ${name}. ${LIVE_ONLY}`);
		if (typeof found === "string") return new Float32Array(bytesOf(found).buffer);
		// A weight that the model keeps as bytes: each row has its own scale.
		const rows = new Int8Array(bytesOf(found.int8).buffer);
		const scales = new Float32Array(bytesOf(found.scale).buffer);
		const width = rows.length / scales.length;
		return Float32Array.from(rows, (value, i) => value * (scales[Math.floor(i / width)] ?? NaN));
	}

	/** The same text unchanged, one of its sentences, at a step. @param {number} run @param {number | undefined} number @param {number | null} step */
	same(run, number, step) {
		const { title, model } = this.document(run);
		return [...this.documents.values()].find((doc) => !doc.changes && !doc.training && doc.sentence === number && doc.title === title && doc.model.name === model.name && doc.model.step === step);
	}

	/** Another sentence of the same text. @param {number} run @param {number} number from 0 @returns {Promise<Doc>} */
	async sentence(run, number) {
		const known = this.same(run, number, this.document(run).model.step);
		return known ?? this.keep(await ask(`api/sentence?run=${run}&number=${number}`));
	}

	/** The run of training behind the model, with what is known of its curves. @param {Learning | null} known @returns {Promise<Learning | null>} */
	async training(known) {
		if (engine) return this.embedded?.training ?? null;
		const kept = known?.train ?? [];
		const found = await ask(`api/training?after=${kept.at(-2)?.step ?? 0}`);
		return found && { ...found, train: [...kept.filter((line) => line.step <= found.after), ...found.train] };
	}

	/** What the model of a run wrote. @param {number} run @returns {Promise<Probe[]>} */
	async probes(run) {
		if (!engine) return ask(`api/probes?run=${run}`);
		const { probes, steps } = this.embedded.training;
		return probes[this.document(run).model.step ?? steps.at(-1)];
	}

	/** The text of a run at a step of its training; with a reference, a training step. @param {number} run @param {number | null} step null: the finished model @param {string} [reference] @returns {Promise<Doc>} */
	async learning(run, step, reference) {
		if (engine) {
			const { title, sentence } = this.document(run);
			const known = this.same(run, sentence, step);
			if (known) return known;
			const found = await this.text(title, engine.models.findIndex((each) => each.step === step));
			return sentence ? this.sentence(found.run, sentence) : found;
		}
		return this.keep(await ask("api/training", { run, step, reference }));
	}

	/** The arithmetic of a gradient or an updated weight. @param {Place} place @param {number} run @returns {Promise<Derivation>} */
	async chain({ name, index }, run) {
		return ask(`api/chain/${name}?run=${run}&index=${index}`);
	}

	/** @param {number} run the one that is changed @param {Edit[]} edits @returns {Promise<Doc>} the run with these edits */
	async whatIf(run, edits) {
		return this.keep((await ask("api/whatif", { run, edits })).document);
	}

	/** @param {number} run @param {number} step @param {string} text @returns {Promise<{token_strings: string[], probabilities: number[]}>} */
	async probability(run, step, text) {
		return ask(`api/probability?run=${run}&step=${step}&text=${encodeURIComponent(text)}`);
	}

	/** @param {number} run @param {number} token @param {"source" | "target"} side @returns {Promise<Neighbour[]>} */
	async neighbours(run, token, side) {
		const carried = this.embedded?.neighbours?.[run]?.[`${side}:${token}`];
		if (carried) return carried;
		return (await ask(`api/neighbours?run=${run}&token=${token}&side=${side}`)).neighbours;
	}

	/** How each head of an attention changes the log-probability of each token of the output. @param {number} run @param {string} attention @returns {Promise<number[][]>} */
	async effects(run, attention) {
		const key = `${run}/${attention}`;
		const known = this.known.get(key) ?? (await ask(`api/effects/${attention}?run=${run}`)).effects;
		this.known.set(key, known);
		return known;
	}

	/** Passages, one a line, the nearest to the sentence first. @param {number} run @param {string} passages @returns {Promise<{text: string, cosine: number}[]>} */
	async nearest(run, passages) {
		return (await ask("api/nearest", { run, passages })).passages;
	}

	/** The text of a source file, where the page contains it. @param {string} file @returns {string | undefined} */
	sourceText(file) {
		return this.embedded?.sources?.[file];
	}

	/** @param {number} run @returns {Promise<Plane>} */
	async plane(run) {
		const carried = this.embedded?.planes?.[run];
		return carried ?? ask(`api/pca?run=${run}`);
	}
}

/** What the engine answers: JSON, or the numbers of a tensor. @param {string} address @param {object} [body] @returns {Promise<any>} */
async function ask(address, body) {
	if (!isLive) throw new Error(LIVE_ONLY);
	if (engine) return engine.ask(address, body);
	const response = await fetch(address, body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
	if (response.ok && address.startsWith("api/tensor/")) return new Float32Array(await response.arrayBuffer());
	const answer = await response.json().catch(() => null);
	if (!response.ok) throw new Error(answer?.error ?? `The server answered ${response.status} for ${address}.`);
	return answer;
}
