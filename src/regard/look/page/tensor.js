/** An array as the trace holds it, and the little algebra the page does on such arrays. */

export class Tensor {
	/** @param {string} name @param {number[]} shape @param {Float32Array} data in C order */
	constructor(name, shape, data) {
		const size = shape.reduce((product, length) => product * length, 1);
		if (data.length !== size) {
			throw new Error(`${name} should hold ${size} numbers, it holds ${data.length}`);
		}
		this.name = name;
		this.shape = shape;
		this.data = data;
	}

	/** @param {number} axis */
	length(axis) {
		return this.shape[axis] ?? 1;
	}

	/** @param {number[]} index */
	at(index) {
		let offset = 0;
		for (let axis = 0; axis < this.shape.length; axis++) {
			offset = offset * this.length(axis) + (index[axis] ?? 0);
		}
		return this.data[offset] ?? NaN;
	}

	/** The numbers along the last axis. @param {...number} index of the other axes @returns {Float32Array} */
	row(...index) {
		const width = this.length(this.shape.length - 1);
		let offset = 0;
		for (let axis = 0; axis < this.shape.length - 1; axis++) {
			offset = offset * this.length(axis) + (index[axis] ?? 0);
		}
		return this.data.subarray(offset * width, (offset + 1) * width);
	}
}

/** 0, 1, 2, …: as many as said. @param {number} length */
export function range(length) {
	return Array.from({ length }, (_, i) => i);
}

/** @param {ArrayLike<number>} values */
export function total(values) {
	let sum = 0;
	for (let i = 0; i < values.length; i++) sum += values[i] ?? 0;
	return sum;
}

/** @param {ArrayLike<number>} left @param {ArrayLike<number>} right */
export function distance(left, right) {
	let sum = 0;
	for (let i = 0; i < left.length; i++) sum += ((left[i] ?? 0) - (right[i] ?? 0)) ** 2;
	return Math.sqrt(sum);
}

/** Smallest and largest finite value. @param {ArrayLike<number>} values @returns {[number, number]} */
export function extent(values) {
	let low = Infinity;
	let high = -Infinity;
	for (let i = 0; i < values.length; i++) {
		const value = values[i] ?? NaN;
		if (!Number.isFinite(value)) continue;
		if (value < low) low = value;
		if (value > high) high = value;
	}
	return low <= high ? [low, high] : [0, 0];
}

/**
 * Attention between pieces as attention between words: what a word receives is the sum over its pieces
 * (columns), what it gives is the mean over its pieces (rows), so that rows still sum to one.
 * @param {(row: number, column: number) => number} value
 * @param {number[][]} rows first and last piece of each word
 * @param {number[][]} columns
 * @returns {number[][]}
 */
export function byWords(value, rows, columns) {
	return rows.map(([top = 0, bottom = 0]) =>
		columns.map(([left = 0, right = 0]) => {
			let sum = 0;
			for (let r = top; r <= bottom; r++) for (let c = left; c <= right; c++) sum += value(r, c);
			return sum / (bottom - top + 1);
		}),
	);
}
