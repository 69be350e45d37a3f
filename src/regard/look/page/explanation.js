/** The dock at the foot of the page: one number taken apart, each of its operands a button to the next. */

import { agreement, canDerive, derive } from "./arithmetic.js";
import { bar, button, div, element, marks, p, span, table, tableRow } from "./dom.js";
import { rowTimesColumn } from "./motion.js";
import { show } from "./numbers.js";
import { trouble } from "./parts.js";
import { describe } from "./structure.js";

/** Whether a number is of a training step: a gradient, or a weight after the update. @param {string} name */
const isOfStep = (name) => /^(grad|after):/.test(name);

export class Explanation {
	/** @param {App} app @param {HTMLElement} root */
	constructor(app, root) {
		this.app = app;
		this.root = root;
		/** @type {Place[]} where the reader came from */
		this.trail = [];
		/** @type {Place | null} */
		this.shown = null;
		/** @type {Element | null} what had the keyboard before */
		this.opener = null;
		app.store.listen(["place", "run"], () => this.update());
	}

	async update() {
		const { place } = this.app.state;
		if (!place) {
			this.trail = [];
			this.open(false);
			return;
		}
		let nodes;
		try {
			const found = isOfStep(place.name) ? await this.app.data.chain(place, this.app.state.run) : await derive(this.app.doc, (name, row) => this.app.tensor(name, row), place);
			nodes = [this.head(found), this.body(found)];
		} catch (error) {
			nodes = [this.bar(element("strong", {}, describe(this.app.doc, place))), trouble(error)];
		}
		// Another number may have been asked for meanwhile, or none.
		if (place !== this.app.state.place) return;
		this.shown = place;
		this.root.replaceChildren(...nodes);
		this.root.scrollTop = 0;
		this.open(true);
	}

	/** Show or hide the dock; the keyboard goes into it and, when it closes, back to where it was. @param {boolean} isWanted */
	open(isWanted) {
		const wasOpen = !this.root.hidden;
		const held = this.root.contains(document.activeElement) || document.activeElement === document.body;
		if (isWanted && !wasOpen) this.opener = document.activeElement;
		this.root.hidden = !isWanted;
		document.body.classList.toggle("dock-open", isWanted);
		if (isWanted && (!wasOpen || held)) this.root.focus({ preventScroll: true });
		if (!isWanted) {
			this.shown = null;
			this.root.replaceChildren();
			if (wasOpen && held && this.opener instanceof HTMLElement && this.opener.isConnected) this.opener.focus({ preventScroll: true });
		}
	}

	/** @param {...HTMLElement} children */
	bar(...children) {
		const goBack = () => this.app.go({ place: this.trail.pop() ?? null });
		const back = button({ class: "small", disabled: !this.trail.length, onclick: goBack }, "◂ back");
		const close = button(
			{ class: "small", id: "close-explanation", "aria-label": "close", onclick: () => this.app.go({ place: null }) },
			"✕",
		);
		return element("header", {}, back, ...children, close);
	}

	/** @param {Derivation} found */
	head(found) {
		return this.bar(
			div(
				"dock-title",
				element("code", {}, `${found.place.name}[${found.place.index.join(", ")}]`),
				element("strong", {}, describe(this.app.doc, found.place)),
				" ",
				span("", found.sentence),
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
				...found.lines.map((line) => tableRow({}, line.text, this.number(line.value, line.place))),
				tableRow({ class: "result" }, "computed here", element("td", { "data-role": "computed", "data-value": result }, show(result, 6))),
				tableRow({ class: "result" }, isOfStep(place.name) ? "by torch" : "in the trace", element("td", { "data-role": "traced", ...marks(traced, place) }, show(traced, 6))),
			),
		);
		return div(
			"dock-body",
			div("dock-sum", p("formula", found.formula), isOfStep(place.name) ? null : rowTimesColumn(found), steps, p("note", agreement(found))),
			found.terms.length ? this.terms(found) : null,
		);
	}

	/** @param {Derivation} found */
	terms(found) {
		const largest = Math.max(...found.terms.map((term) => Math.abs(term.result)), 1e-30);
		/** @param {Term} term */
		const row = (term) =>
			tableRow(
				{},
				term.label,
				...term.operands.map((operand) => this.number(operand.value, operand.place)),
				element("td", { "data-role": "term", "data-value": term.result }, show(term.result)),
				element(
					"td",
					{ class: "bar-cell", "aria-hidden": "true" },
					bar(Math.abs(term.result) / largest, term.result < 0 ? "negative" : ""),
				),
			);
		const terms = table([...found.columns, ""], found.terms.map(row));
		terms.classList.add("terms");
		return terms;
	}

	/** A number, as a button where it can be taken apart in turn. @param {number} value @param {Place | undefined} place */
	number(value, place) {
		const attributes = marks(value, place);
		if (!place || !(isOfStep(place.name) ? place.name in this.app.doc.tensors : canDerive(this.app.doc, place.name))) return element("span", attributes, show(value));
		return button(
			{
				...attributes,
				class: "operand",
				title: `${describe(this.app.doc, place)} Where does it come from?`,
				onclick: () => {
					if (this.shown) this.trail.push(this.shown);
					this.app.go({ place });
				},
			},
			show(value),
		);
	}
}
