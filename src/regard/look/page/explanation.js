/** The dock at the foot of the page: one number taken apart, each of its operands a button to the next. */

import { sideOf } from "./anatomy.js";
import { agreement, canDerive, derive } from "./arithmetic.js";
import { bar, button, element, marks, table, tableRow } from "./dom.js";
import { readable, show } from "./numbers.js";

export class Explanation {
	/** @param {App} app @param {HTMLElement} root */
	constructor(app, root) {
		this.app = app;
		this.root = root;
		/** @type {Place[]} where the reader came from */
		this.trail = [];
		/** @type {Place | null} */
		this.shown = null;
		app.store.listen(["place", "run"], () => this.update());
	}

	async update() {
		const { place } = this.app.state;
		this.root.hidden = place === null;
		document.body.classList.toggle("dock-open", place !== null);
		if (!place) {
			this.trail = [];
			this.shown = null;
			return;
		}
		try {
			const found = await derive(this.app.doc, (name, row) => this.app.tensor(name, row), place);
			if (place !== this.app.state.place) return;
			this.shown = place;
			this.root.replaceChildren(this.head(found), this.body(found));
			this.root.scrollTop = 0;
		} catch (error) {
			this.root.replaceChildren(
				this.bar(element("strong", {}, "This number")),
				element("p", { class: "trouble" }, error instanceof Error ? error.message : String(error)),
			);
		}
	}

	/** @param {...HTMLElement} children */
	bar(...children) {
		const back = button(
			{
				class: "small",
				disabled: !this.trail.length,
				onclick: () => {
					const place = this.trail.pop();
					if (place) this.app.go({ place });
				},
			},
			"◂ back",
		);
		const close = button(
			{ class: "small", id: "close-explanation", "aria-label": "close", onclick: () => this.app.go({ place: null }) },
			"✕",
		);
		return element("header", {}, back, ...children, close);
	}

	/** @param {Derivation} found */
	head(found) {
		return this.bar(
			element(
				"div",
				{ class: "dock-title" },
				element("code", {}, `${found.place.name}[${found.place.index.join(", ")}]`),
				element("span", {}, found.sentence),
			),
		);
	}

	/** @param {Derivation} found */
	body(found) {
		const { place, traced, result } = found;
		const steps = element(
			"table",
			{ class: "lines" },
			element(
				"tbody",
				{},
				...found.lines.map((line) => tableRow({}, line.text, element("td", {}, this.number(line.value, line.place)))),
				tableRow({ class: "result" }, "computed here", element("td", { "data-role": "computed", "data-value": result }, show(result, 6))),
				tableRow({ class: "result" }, "in the trace", element("td", { "data-role": "traced", ...marks(traced, place) }, show(traced, 6))),
			),
		);
		return element(
			"div",
			{ class: "dock-body" },
			element(
				"div",
				{ class: "dock-sum" },
				element("p", { class: "formula" }, found.formula),
				steps,
				element("p", { class: "note" }, agreement(found)),
			),
			found.terms.length ? this.terms(found) : null,
		);
	}

	/** @param {Derivation} found */
	terms(found) {
		const largest = Math.max(...found.terms.map((term) => Math.abs(term.result)), 1e-30);
		/** @param {Term} term */
		const row = (term) => {
			return tableRow(
				{},
				term.label,
				...term.operands.map((operand) => element("td", {}, this.number(operand.value, operand.place))),
				element("td", { "data-role": "term", "data-value": term.result }, show(term.result)),
				element(
					"td",
					{ class: "bar-cell", "aria-hidden": "true" },
					bar(Math.abs(term.result) / largest, term.result < 0 ? "negative" : ""),
				),
			);
		};
		const terms = table(["", ...found.columns, ""], found.terms.map(row));
		terms.classList.add("terms");
		return terms;
	}

	/**
	 * A number, as a button where it can be taken apart in turn.
	 * @param {number} value
	 * @param {Place | undefined} place
	 */
	number(value, place) {
		const attributes = marks(value, place);
		if (!place || !canDerive(this.app.doc, place.name)) return element("span", attributes, show(value));
		const side = sideOf(this.app.doc, place.name);
		const position = place.index.length === 3 ? place.index[1] : place.index[0];
		const piece = side?.pieces[position ?? 0];
		return button(
			{
				...attributes,
				class: "operand",
				title: `${place.name}[${place.index.join(", ")}]${piece ? ` of “${readable(piece)}”` : ""}: where does it come from?`,
				onclick: () => {
					if (this.shown) this.trail.push(this.shown);
					this.app.go({ place });
				},
			},
			show(value),
		);
	}
}
