/** The dock at the foot of the page: one number taken apart, each of its operands a button to the next. */

import { sideOf } from "./anatomy.js";
import { agreement, canDerive, derive } from "./arithmetic.js";
import { button, element, marks } from "./dom.js";
import { readable, show } from "./numbers.js";

/** @import { App } from "./app.js" */
/** @import { Derivation } from "./arithmetic.js" */
/** @import { Place } from "./types.js" */

const FIRST_TERMS = 400;

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
				...found.lines.map((line) =>
					element(
						"tr",
						{},
						element("th", { scope: "row" }, line.text),
						element("td", {}, this.number(line.value, line.place)),
					),
				),
				element(
					"tr",
					{ class: "result" },
					element("th", { scope: "row" }, "computed here"),
					element("td", { "data-role": "computed", "data-value": result }, show(result, 6)),
				),
				element(
					"tr",
					{ class: "result" },
					element("th", { scope: "row" }, "in the trace"),
					element("td", { "data-role": "traced", ...marks(traced, place) }, show(traced, 6)),
				),
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
		const shown = found.terms.slice(0, FIRST_TERMS);
		/** @param {import("./arithmetic.js").Term} term */
		const row = (term) => {
			const bar = element("i", { class: term.result < 0 ? "bar negative" : "bar" });
			bar.style.width = `${(100 * Math.abs(term.result)) / largest}%`;
			return element(
				"tr",
				{},
				element("th", { scope: "row" }, term.label),
				...term.operands.map((operand) => element("td", {}, this.number(operand.value, operand.place))),
				element("td", { "data-role": "term", "data-value": term.result }, show(term.result)),
				element("td", { class: "bar-cell", "aria-hidden": "true" }, bar),
			);
		};
		const body = element("tbody", {}, ...shown.map(row));
		const more =
			found.terms.length > shown.length
				? button(
						{
							class: "small",
							onclick: (/** @type {MouseEvent} */ event) => {
								body.append(...found.terms.slice(FIRST_TERMS).map(row));
								/** @type {HTMLElement} */ (event.currentTarget).remove();
							},
						},
						`all ${found.terms.length} terms`,
					)
				: null;
		return element(
			"div",
			{ class: "table-scroll terms", tabindex: 0, role: "region", "aria-label": "The terms" },
			element(
				"table",
				{},
				element(
					"thead",
					{},
					element(
						"tr",
						{},
						element("th"),
						...found.columns.map((head) => element("th", { scope: "col" }, head)),
						element("th"),
					),
				),
				body,
			),
			more,
		);
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
