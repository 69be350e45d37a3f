/** model.safetensors: fp32, fp16, or int8 rows with scales, as `regard.folder.tensors` writes them. */

import { Memory } from "./kernels.js";

const SCALE = "_scale";

/** @typedef {import("./kernels.js").Matrix} Matrix */

/** Matrices that are looked up by row lie [rows, features]; int8 matrices to multiply with lie [inputs, outputs]. @param {string} name */
const isTable = (name) => /(embedding|position|position_bias)\.weight$/.test(name);

/** @param {Uint16Array} halves */
function widened(halves) {
	const values = new Float32Array(halves.length);
	halves.forEach((half, i) => {
		const [sign, power, rest] = [half & 0x8000 ? -1 : 1, (half >> 10) & 31, half & 1023];
		const size = power ? 2 ** (power - 15) * (1 + rest / 1024) : (2 ** -14 * rest) / 1024;
		values[i] = power === 31 ? (rest ? NaN : sign * Infinity) : sign * size;
	});
	return values;
}

/** The names that share a tensor, and the name it is stored under. @param {EngineConfig} config @returns {Record<string, string>} */
export function tiedNames(config) {
	if (config.tied === "none") return {};
	const [hasEncoder, hasDecoder] = [config.architecture !== "decoder-only", config.architecture !== "encoder-only"];
	const sharesSource = !hasDecoder || (hasEncoder && config.tied === "all");
	const first = sharesSource ? "source.embedding.weight" : "target.embedding.weight";
	return { "output.weight": first, ...(hasDecoder && sharesSource ? { "target.embedding.weight": first } : {}) };
}

export class Weights {
	/** @param {ArrayBuffer} file @param {EngineConfig} config @param {boolean} [isPlain] */
	constructor(file, config, isPlain = false) {
		const view = new DataView(file);
		const start = 8 + Number(view.getBigUint64(0, true));
		/** @type {Record<string, { dtype: string, shape: number[], data_offsets: [number, number] }>} */
		const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, start - 8)));
		delete header["__metadata__"];
		this.config = config;
		this.tied = tiedNames(config);
		/** @type {Map<string, Matrix>} */
		this.matrices = new Map();
		/** @type {Map<string, Float32Array>} */
		this.vectors = new Map();
		/** @type {Record<string, number[]>} shapes by the names of the state dict */
		this.shapes = {};
		/** @param {string} name */
		const read = (name) => {
			const entry = header[name];
			if (!entry) return undefined;
			const [from, to] = entry.data_offsets;
			if (entry.dtype === "I8") return new Int8Array(file, start + from, to - from);
			// A copy: places in a file need not be multiples of four.
			const bytes = file.slice(start + from, start + to);
			if (entry.dtype === "F16") return widened(new Uint16Array(bytes));
			if (entry.dtype !== "F32") throw new Error(`${name} must be F32, F16 or I8: got ${entry.dtype}`);
			return new Float32Array(bytes);
		};
		const names = Object.keys(header).filter((name) => !name.endsWith(SCALE));
		const sizes = names.map((name) => {
			const { shape, dtype } = /** @type {{ dtype: string, shape: number[] }} */ (header[name]);
			const [a = 0, b = 1] = shape;
			return { values: (dtype === "I8" ? 1 : 4) * (a + 16) * (b + 16) + 8 * Math.max(a, b), longest: Math.max(a, b) };
		});
		const longest = Math.max(...sizes.map((each) => each.longest));
		this.memory = new Memory(sizes.reduce((sum, each) => sum + each.values + 64, 64 * longest), isPlain);
		this.memory.reserveRoom(longest, longest);
		for (const name of names) {
			const values = read(name);
			const shape = header[name]?.shape ?? [];
			if (!values) continue;
			if (shape.length === 1 && !(values instanceof Int8Array)) {
				this.vectors.set(name, values);
				this.shapes[name] = shape;
				continue;
			}
			const [first = 0, second = 0] = shape;
			const turned = values instanceof Int8Array && !isTable(name);
			const [numRows, width] = turned ? [second, first] : [first, second];
			const scale = /** @type {Float32Array | undefined} */ (read(name + SCALE));
			const bias = /** @type {Float32Array | undefined} */ (name.endsWith(".weight") && !isTable(name) ? read(name.replace(/weight$/, "bias")) : undefined);
			this.matrices.set(name, this.memory.matrix(values, numRows, width, turned, scale, bias));
			this.shapes[name] = [numRows, width];
		}
		for (const [name, first] of Object.entries(this.tied)) {
			const shared = this.matrices.get(first);
			if (!shared) throw new Error(`the weights must have ${first}: they have not`);
			const bias = name === "output.weight" ? this.vectors.get("output.bias") : undefined;
			this.matrices.set(name, bias ? { ...shared, bias: this.memory.keep(bias) } : shared);
			this.shapes[name] = [shared.numRows, shared.width];
		}
	}

	get numParameters() {
		const stored = Object.entries(this.shapes).filter(([name]) => !(name in this.tied) && !name.includes("running_"));
		return stored.reduce((sum, [, shape]) => sum + shape.reduce((product, length) => product * length, 1), 0);
	}

	/** @param {string} name */
	matrix(name) {
		const found = this.matrices.get(name);
		if (!found) throw new Error(`the weights must have ${name}: they have not`);
		return found;
	}

	/** @param {string} name */
	vector(name) {
		const found = this.vectors.get(name);
		if (!found) throw new Error(`the weights must have ${name}: they have not`);
		return found;
	}

	/** Rows of a table, side by side. @param {string} name @param {ArrayLike<number>} rows */
	rows(name, rows) {
		const matrix = this.matrix(name);
		const values = new Float32Array(rows.length * matrix.width);
		for (let i = 0; i < rows.length; i++) values.set(this.memory.row(matrix, rows[i] ?? 0), i * matrix.width);
		return values;
	}

	/** x Wᵀ + bias of a linear map. @param {Float32Array} x [rows, inputs] @param {string} name without .weight */
	linear(x, name) {
		return this.memory.product(x, this.matrix(`${name}.weight`));
	}

	/** A parameter by the name of the state dict, whole or one row of it. @param {string} name @param {number} [row] */
	parameter(name, row) {
		const vector = this.vectors.get(name);
		if (vector) return vector;
		const { numRows } = this.matrix(name);
		return this.rows(name, row === undefined ? Array.from({ length: numRows }, (_, i) => i) : [row]);
	}
}
