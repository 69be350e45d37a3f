/** One number being taken apart: what every rule of the arithmetic needs. */

import { tokenLabels } from "./numbers.js";
import { parsePath, sidesOf } from "./structure.js";
import { total } from "./tensor.js";

export class Question {
	/** @param {Doc} doc @param {Fetch} fetch @param {Place} place @param {number} traced */
	constructor(doc, fetch, place, traced) {
		const [first = 0, second = 0, third = 0] = place.index;
		this.doc = doc;
		this.config = doc.model.config;
		this.fetch = fetch;
		this.place = place;
		this.traced = traced;
		this.index = /** @type {[number, number, number]} */ ([first, second, third]);
		this.last = place.name.slice(place.name.lastIndexOf(".") + 1);
		this.part = parsePath(place.name);
	}

	/** Whose embedding or position it is. @returns {"source" | "target"} */
	get side() {
		return this.place.name.startsWith("source") ? "source" : "target";
	}

	get subLayer() {
		if (!this.part) throw new Error(`${this.place.name} is in no sub-layer`);
		return this.part;
	}

	/** An operand inside the same sub-layer. @param {string} name */
	beside(name) {
		return this.place.name.slice(0, -this.last.length) + name;
	}

	/** The tokens that the keys of this attention stand for. @param {number} j */
	key = (j) => tokenLabels(sidesOf(this.doc, this.subLayer).columns)[j] ?? String(j);

	/** A traced number as a line; by default the one at the same place of another array. @param {string} text @param {string} name */
	async line(text, name, index = this.place.index) {
		return { text, value: (await this.fetch(name)).at(index), place: { name, index } };
	}

	/** A row of a traced array as one side of products. @param {string} name @param {...number} index @returns {Promise<Factor>} */
	async row(name, ...index) {
		return { values: (await this.fetch(name)).row(...index), place: (j) => ({ name, index: [...index, j] }) };
	}

	/** @param {string} path @returns {Promise<Float32Array | undefined>} */
	async bias(path) {
		return `${path}.bias` in this.doc.parameters ? (await this.fetch(`param:${path}.bias`)).data : undefined;
	}

	/** @param {string} sentence @param {string} formula @param {number} result @param {Partial<Derivation>} [more] @returns {Derivation} */
	answer(sentence, formula, result, more) {
		const { place, traced } = this;
		return { place, traced, sentence, formula, result, columns: [], terms: [], lines: [], ...more };
	}

	/** The same number under another name. @param {string} name @param {string} sentence */
	async same(name, sentence, index = this.place.index) {
		const line = await this.line(name, name, index);
		return this.answer(sentence, `${this.last} = ${name}`, line.value, { lines: [line] });
	}

	/** @param {string[]} names @param {string} sentence @param {string} formula */
	async sumOf(names, sentence, formula) {
		const lines = await Promise.all(names.map((name) => this.line(name, name)));
		return this.answer(sentence, formula, total(lines.map((line) => line.value)), { lines });
	}

	/** A sum of products, with an optional bias: every linear map, every dot product, every mixture. @param {Products} of */
	products({ sentence, formula, heads, left, right, bias, what = "feature", label = String }) {
		const terms = Array.from(left.values, (value, j) => {
			const other = right.values[j] ?? NaN;
			const operands = [
				{ value, place: left.place?.(j) },
				{ value: other, place: right.place?.(j) },
			];
			return { label: label(j), operands, result: value * other };
		});
		const sum = total(terms.map((term) => term.result));
		const lines = [{ text: `sum of the ${terms.length} products`, value: sum }];
		if (bias !== undefined) lines.push({ text: "plus the bias", value: bias });
		return this.answer(sentence, formula, sum + (bias ?? 0), { columns: [what, ...heads, "product"], terms, lines });
	}

	/** The share of one term among exponentials: a softmax. @param {Softmax} of */
	softmax({ sentence, x, what, terms, own, sum, lines }) {
		const power = `exp(${x} − largest)`;
		lines.push({ text: "sum of all exponentials", value: sum }, { text: `this ${what}'s exponential`, value: own });
		return this.answer(sentence, `${this.last} = ${power} / Σ ${power}`, own / sum, { columns: [what, x, power], terms, lines });
	}

	/** One output of a linear map: a row of the input times a row of the weights (which torch keeps transposed). @param {Linear} of */
	async linear({ sentence, x = "x", matrix, input, position, column }) {
		const path = this.beside(this.last);
		const right = { values: (await this.fetch(`param:${path}.weight`)).row(column) };
		const bias = (await this.bias(path))?.[column];
		const formula = `${this.last} = ${x} · ${matrix}${bias === undefined ? "" : " + bias"}, column ${column}`;
		return this.products({ sentence, formula, heads: [x, matrix], left: await this.row(input, position), right, bias });
	}
}
