/** What every panel receives. */

import { attentions, numLayers, parsePath, subLayers } from "./structure.js";

export class App {
	/** @param {Store} store @param {DataSource} data */
	constructor(store, data) {
		this.store = store;
		this.data = data;
		/** @type {Learning | null} the run of training behind the model, where it is known */
		this.training = null;
	}

	get state() {
		return this.store.state;
	}

	/** @returns {Doc} of the run in view */
	get doc() {
		return this.data.document(this.state.run);
	}

	get config() {
		return this.doc.model.config;
	}

	/** How many tokens the output chooses among. */
	get vocabularySize() {
		return this.doc.target ? this.config.target_vocab_size : this.config.source_vocab_size;
	}

	/** @param {string} name @param {number} [row] @returns {Promise<Tensor>} of the run in view */
	tensor(name, row) {
		return this.data.tensor(name, this.state.run, row);
	}

	/** @param {Partial<State>} change */
	go(change) {
		this.store.set(change);
	}

	/** @param {string} name */
	has(name) {
		return name in this.doc.tensors;
	}

	/** The side that a view of both shows: the one in focus, where it has what is shown. @param {string} what @returns {"source" | "target"} */
	inFocus(what) {
		return this.has(`source.${what}`) && this.state.focus !== "target" ? "source" : "target";
	}

	/** Whether the model writes; an encoder-only model reads. */
	get writes() {
		return this.doc.target !== null && this.doc.output.length > 0;
	}

	/** Whether it has a vector for the whole sentence and no second one to write. */
	get isReader() {
		return !this.doc.target && this.has("memory");
	}

	/** The position of the output in view: of a model that only reads, the place of a token. */
	get here() {
		return this.doc.target ? this.state.step : this.state.token;
	}

	/** How many positions are written one after the other. */
	get numSteps() {
		return this.doc.target ? this.doc.output.length || this.doc.target.token_strings.length : 1;
	}

	/** How many of them were given and not written: a decoder-only model's prompt. */
	get numGiven() {
		return this.doc.target?.num_given ?? 0;
	}

	/** Open the arithmetic of a number. */
	open = (/** @type {Place} */ place) => this.go({ place });

	/** The layer in view, for the boxes of a stack. @param {"encoder" | "decoder"} stack */
	layerOf(stack) {
		const part = parsePath(this.state.attention);
		return part?.stack === stack ? part.layer : Math.max(0, Math.min(part?.layer ?? 0, numLayers(this.doc, stack) - 1));
	}

	/** Bring a state that came from an address or another run into this document's bounds. */
	settle() {
		const { doc, state } = this;
		const isKnown = subLayers(doc).some((part) => part.path === state.attention);
		const heads = doc.tensors[`${state.attention}.weights`]?.shape[0] ?? 1;
		/** @param {number} value @param {number} count */
		const within = (value, count) => Math.max(0, Math.min(Math.floor(value), count - 1));
		const { place } = state;
		const shape = place && doc.tensors[place.name]?.shape;
		const isThere = shape?.length === place?.index.length && place?.index.every((each, axis) => each >= 0 && each < (shape?.[axis] ?? 0));
		if (place && !isThere) this.go({ place: null });
		this.go({
			attention: isKnown ? state.attention : (attentions(doc)[0]?.path ?? ""),
			head: isKnown ? within(state.head, heads) : 0,
			step: within(state.step, this.numSteps),
			token: within(state.token, doc.source?.token_strings.length ?? 1),
		});
	}
}
