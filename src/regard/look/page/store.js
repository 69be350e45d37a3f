/** What the page shows, in one object: panels listen to the parts they draw, the address keeps it. */

/** Names that addresses of earlier versions use. @type {Record<string, string>} */
const OLD_NAMES = { journey: "overview", lines: "attention-lines", embedding: "embeddings", pieces: "tokens" };

export const IN_ADDRESS = /** @type {const} */ (["view", "attention", "head", "step", "token", "unit", "heads", "threshold", "tour", "figure", "focus"]);

export class Store {
	/** @param {State} initial */
	constructor(initial) {
		this.state = initial;
		/** what Back tells apart, as it was last written */
		this.where = "";
		/** @type {{keys: readonly (keyof State)[] | null, listener: () => void}[]} */
		this.listeners = [];
	}

	/** @param {Partial<State>} change */
	set(change) {
		const changed = /** @type {(keyof State)[]} */ (Object.keys(change)).filter((key) => !Object.is(this.state[key], change[key]));
		if (!changed.length) return;
		this.state = { ...this.state, ...change };
		this.tell(changed);
	}

	/** @param {(keyof State)[]} changed */
	tell(changed) {
		for (const { keys, listener } of this.listeners) if (!keys || keys.some((key) => changed.includes(key))) listener();
	}

	/** @param {readonly (keyof State)[] | null} keys those whose change is told, or null for all @param {() => void} listener */
	listen(keys, listener) {
		this.listeners.push({ keys, listener });
	}

	address() {
		const parts = new URLSearchParams();
		for (const key of IN_ADDRESS) parts.set(key, String(this.state[key]));
		const { place } = this.state;
		// A number of another run is gone when the page is loaded again.
		if (place && place.run === undefined) parts.set("number", [place.name, ...place.index].join(","));
		return `#${parts}`;
	}

	/** Keep the address in step: where the reader goes somewhere else, a new one, to which Back returns. */
	writeAddress() {
		const address = this.address();
		// A notebook's frame has no address of its own.
		if (location.protocol === "about:" || address === location.hash) return;
		const where = this.whereabouts();
		history[this.where === "" || this.where === where ? "replaceState" : "pushState"](null, "", address);
		this.where = where;
	}

	/** Be where the address says. */
	readAddress() {
		this.where = "";
		this.set(this.read(location.hash));
		this.where = this.whereabouts();
	}

	whereabouts() {
		const { view, tour, place } = this.state;
		return JSON.stringify([view, tour, place]);
	}

	/** The parts of the state that an address names. @param {string} hash @returns {Partial<State>} */
	read(hash) {
		const parts = new URLSearchParams(hash.replace(/^#/, ""));
		const [name = "", ...index] = (parts.get("number") ?? "").split(",");
		/** @type {Record<string, any>} */
		const change = { place: name ? { name, index: index.map(Number) } : null };
		if (JSON.stringify(change["place"]) === JSON.stringify(this.state.place)) delete change["place"];
		for (const key of IN_ADDRESS) {
			const text = parts.get(key);
			if (text === null) continue;
			if (typeof this.state[key] !== "number") change[key] = OLD_NAMES[text] ?? text;
			else if (Number.isFinite(Number(text))) change[key] = Number(text);
		}
		return change;
	}
}
