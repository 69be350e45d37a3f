/**
 * Values by their names, as `regard.trace` keeps them: `keep` returns its value and records it only where there is a trace,
 * so traced and untraced passes are the same code, and an edit at a name changes what the pass goes on with.
 */

/** @typedef {{ shape: number[], data: Float32Array }} Value */
/** @typedef {Record<string, (value: Value) => Value>} Edits */

export class Trace {
	/** @param {Edits} [edits] @param {boolean} [records] */
	constructor(edits = {}, records = true) {
		this.edits = edits;
		this.records = records;
		/** @type {Map<string, Value>} */
		this.values = new Map();
		this.path = "";
		/** @type {Trace | null} */
		this.root = null;
	}

	/** The same trace, for names below a path. @param {string} path @returns {Trace} */
	at(path) {
		const below = new Trace(this.edits, this.records);
		below.root = this.root ?? this;
		below.path = `${this.path}${path}.`;
		return below;
	}

	/** @param {string} name @param {Value} value */
	keep(name, value) {
		const path = this.path + name;
		const edited = this.edits[path]?.(value) ?? value;
		if (this.records) (this.root ?? this).values.set(path, edited);
		return edited;
	}
}

/** @param {Trace | null} trace @param {string} path */
export const at = (trace, path) => trace && trace.at(path);

/** @param {Trace | null} trace @param {string} name @param {number[]} shape @param {Float32Array} data */
export const keep = (trace, name, shape, data) => (trace ? trace.keep(name, { shape, data }).data : data);
