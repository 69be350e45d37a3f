/** What the page shows, in one object: panels listen to the parts they draw, the address keeps it. */

const IN_ADDRESS = /** @type {const} */ (["view", "attention", "head", "step", "token", "unit", "heads", "threshold", "tour"]);

export class Store {
	/** @param {State} initial */
	constructor(initial) {
		this.state = initial;
		/** @type {Set<{keys: (keyof State)[], listener: () => void}>} */
		this.listeners = new Set();
	}

	/** @param {Partial<State>} change */
	set(change) {
		const changed = /** @type {(keyof State)[]} */ (Object.keys(change)).filter((key) => !Object.is(this.state[key], change[key]));
		if (!changed.length) return;
		this.state = { ...this.state, ...change };
		for (const { keys, listener } of [...this.listeners]) {
			if (keys.some((key) => changed.includes(key))) listener();
		}
	}

	/** @param {(keyof State)[]} keys @param {() => void} listener @returns {() => void} stops listening */
	listen(keys, listener) {
		const entry = { keys, listener };
		this.listeners.add(entry);
		return () => this.listeners.delete(entry);
	}

	address() {
		const parts = new URLSearchParams();
		for (const key of IN_ADDRESS) parts.set(key, String(this.state[key]));
		return `#${parts}`;
	}

	/** The parts of the state that an address names. @param {string} hash @returns {Partial<State>} */
	read(hash) {
		const parts = new URLSearchParams(hash.replace(/^#/, ""));
		/** @type {Record<string, string | number>} */
		const change = {};
		for (const key of IN_ADDRESS) {
			const text = parts.get(key);
			if (text === null) continue;
			if (typeof this.state[key] !== "number") change[key] = text;
			else if (Number.isFinite(Number(text))) change[key] = Number(text);
		}
		return change;
	}
}
