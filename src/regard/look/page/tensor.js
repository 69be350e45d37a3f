/** An array as the trace holds it, and the little algebra the page does on such arrays. */

export class Tensor {
	/** @param {string} name @param {number[]} shape @param {Float32Array} data in C order */
	constructor(name, shape, data) {
		const size = shape.reduce((product, length) => product * length, 1);
		if (data.length !== size) throw new Error(`${name} should hold ${size} numbers, it holds ${data.length}`);
		this.name = name;
		this.shape = shape;
		this.data = data;
	}

	/** @param {number} axis */
	length(axis) {
		return this.shape[axis] ?? 1;
	}

	/** @param {number[]} index @param {number} numAxes */
	offset(index, numAxes) {
		let offset = 0;
		for (let axis = 0; axis < numAxes; axis++) offset = offset * this.length(axis) + (index[axis] ?? 0);
		return offset;
	}

	/** @param {number[]} index */
	at(index) {
		return this.data[this.offset(index, this.shape.length)] ?? NaN;
	}

	/** The numbers along the last axis. @param {...number} index of the other axes @returns {Float32Array} */
	row(...index) {
		const last = this.shape.length - 1;
		const start = this.offset(index, last) * this.length(last);
		return this.data.subarray(start, start + this.length(last));
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
	return Math.hypot(...Array.from(left, (value, i) => value - (right[i] ?? 0)));
}

/** Smallest and largest finite value. @param {ArrayLike<number>} values @returns {[number, number]} */
export function extent(values) {
	let [low, high] = [Infinity, -Infinity];
	for (const value of Array.from(values).filter(Number.isFinite)) [low, high] = [Math.min(low, value), Math.max(high, value)];
	return low <= high ? [low, high] : [0, 0];
}

/**
 * Attention between tokens as attention between words: what a word receives is the sum over its tokens
 * (columns), what it gives is the mean over its tokens (rows), so that rows still sum to one.
 * @param {(row: number, column: number) => number} value
 * @param {number[][]} rows first and last token of each word
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
