/**
 * The products of linear maps, where nearly all the time goes: a WebAssembly module that takes four lanes at a time, and
 * the same in plain JavaScript for browsers without. Weights lie in one memory that both read.
 */

import { bytesOf } from "./base64.js";
import { KERNELS } from "./kernels_bytes.js";

const LANES = 16;
const PAGE = 65536;
const GROUP = 4;

/** A matrix [numRows, width] in the memory; the rest of a row up to `stride` is 0. */
/** @typedef {{ isInt8: boolean, at: number, scale: number, bias: number, numRows: number, width: number, stride: number }} Matrix */

/** @param {number} width */
const padded = (width) => Math.ceil(width / LANES) * LANES;

export class Memory {
	/** @param {number} size bytes of all weights @param {boolean} [isPlain] without WebAssembly */
	constructor(size, isPlain = false) {
		this.used = 16;
		const wanted = Math.ceil(size / PAGE) + 1;
		/** @type {Record<string, Function> | null} */
		this.kernels = null;
		/** @type {ArrayBufferLike} */
		this.buffer = new ArrayBuffer(0);
		if (!isPlain && typeof WebAssembly === "object") {
			try {
				const memory = new WebAssembly.Memory({ initial: wanted });
				const module = new WebAssembly.Module(bytesOf(KERNELS));
				const { exports } = new WebAssembly.Instance(module, { memory: { memory } });
				this.kernels = /** @type {Record<string, Function>} */ (/** @type {unknown} */ (exports));
				this.buffer = memory.buffer;
			} catch {
				// No SIMD here, or the page's policy forbids it: the plain form does.
			}
		}
		if (!this.kernels) this.buffer = new ArrayBuffer(wanted * PAGE);
		this.bytes = new Int8Array(this.buffer);
		this.floats = new Float32Array(this.buffer);
		/** place of a product's rows, and of its results */
		this.input = 0;
		this.output = 0;
	}

	/** @param {number} length */
	reserve(length) {
		const at = this.used;
		this.used += Math.ceil(length / LANES) * LANES;
		if (this.used > this.bytes.length) throw new Error("the weights do not fit into the memory that was reserved");
		return at;
	}

	/** Room for the rows of a product. @param {number} width the longest row @param {number} numRows of the tallest matrix */
	reserveRoom(width, numRows) {
		this.input = this.reserve(GROUP * 4 * padded(width));
		this.output = this.reserve(GROUP * 4 * numRows);
	}

	/** @param {Float32Array} values */
	keep(values) {
		const at = this.reserve(4 * values.length);
		this.floats.set(values, at / 4);
		return at;
	}

	/** @param {Float32Array | Int8Array} values @param {number} numRows @param {number} width @param {boolean} turned whether they lie [width, numRows] @param {Float32Array} [scale] @param {Float32Array} [bias] @returns {Matrix} */
	matrix(values, numRows, width, turned, scale, bias) {
		const stride = padded(width);
		const isInt8 = values instanceof Int8Array;
		const at = this.reserve(numRows * stride * (isInt8 ? 1 : 4));
		const place = isInt8 ? this.bytes : this.floats;
		const first = isInt8 ? at : at / 4;
		for (let row = 0; row < numRows; row++) {
			const start = first + row * stride;
			if (!turned) place.set(values.subarray(row * width, (row + 1) * width), start);
			else for (let i = 0; i < width; i++) place[start + i] = /** @type {number} */ (values[i * numRows + row]);
		}
		return { isInt8, at, scale: scale ? this.keep(scale) : 0, bias: bias ? this.keep(bias) : 0, numRows, width, stride };
	}

	/** A row of a matrix as floats. @param {Matrix} matrix @param {number} row */
	row({ isInt8, at, scale, width, stride }, row) {
		const values = new Float32Array(width);
		const place = isInt8 ? this.bytes : this.floats;
		const start = (isInt8 ? at : at / 4) + row * stride;
		const factor = scale ? (this.floats[scale / 4 + row] ?? 1) : 1;
		for (let i = 0; i < width; i++) values[i] = /** @type {number} */ (place[start + i]) * factor;
		return values;
	}

	/** x Wᵀ + bias. @param {Float32Array} x [rows, width] @param {Matrix} matrix @returns {Float32Array} [rows, numRows] */
	product(x, matrix) {
		const { width, numRows, stride, isInt8 } = matrix;
		const result = new Float32Array((x.length / width) * numRows);
		const [from, to] = [this.input / 4, this.output / 4];
		for (let row = 0, count = 0; row * width < x.length; row += count) {
			count = (row + GROUP) * width <= x.length ? GROUP : 1;
			for (let i = 0; i < count; i++) {
				this.floats.set(x.subarray((row + i) * width, (row + i + 1) * width), from + i * stride);
				this.floats.fill(0, from + i * stride + width, from + (i + 1) * stride);
			}
			const kernel = this.kernels?.[`${isInt8 ? "int8" : "float"}_${count}`];
			if (kernel) kernel(this.input, matrix.at, matrix.scale, matrix.bias, this.output, numRows, stride);
			else for (let i = 0; i < count; i++) this.plain(from + i * stride, matrix, to + i * numRows);
			result.set(this.floats.subarray(to, to + count * numRows), row * numRows);
		}
		return result;
	}

	/** One row of a product, as it is written on paper. @param {number} from @param {Matrix} matrix @param {number} to */
	plain(from, { isInt8, at, scale, bias, numRows, width, stride }, to) {
		const { floats } = this;
		const weights = isInt8 ? this.bytes : floats;
		let start = isInt8 ? at : at / 4;
		for (let row = 0; row < numRows; row++, start += stride) {
			let sum = 0;
			for (let i = 0; i < width; i++) sum += /** @type {number} */ (floats[from + i]) * /** @type {number} */ (weights[start + i]);
			if (scale) sum *= /** @type {number} */ (floats[scale / 4 + row]);
			if (bias) sum += /** @type {number} */ (floats[bias / 4 + row]);
			floats[to + row] = sum;
		}
	}
}
