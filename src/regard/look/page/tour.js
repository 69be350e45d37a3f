/** The guided tour: a card that opens the panel it explains. */

import { button, div, element, marks, p, span } from "./dom.js";
import { percent, show } from "./numbers.js";
import { codeLink } from "./parts.js";
import { STEPS } from "./tour_text.js";

/** @param {App} app @returns {TourStep[]} */
function stepsFor(app) {
	return STEPS.filter((step) => step.fits?.(app) ?? true);
}

/** Open what a step of the tour explains. @param {App} app @param {number} number */
export async function goToStep(app, number) {
	const steps = stepsFor(app);
	const step = steps[Math.min(number, steps.length - 1)];
	if (!step || number < 0) app.go({ tour: -1 });
	else app.go({ focus: "", ...(await step.view(app)), tour: Math.min(number, steps.length - 1), place: null });
}

/** @param {App} app @returns {Promise<HTMLElement[]>} */
export async function tourCard(app) {
	const steps = stepsFor(app);
	const number = app.state.tour;
	const step = steps[number];
	if (!step) return [];
	const text = (await step.tell(app)).map((part) => {
		if (typeof part === "string") return part;
		const { value, place, digits } = part;
		const shown = digits === undefined ? percent(value) : show(value, digits);
		return button({ class: "operand", ...marks(value, place), onclick: () => app.open(place) }, shown);
	});
	const isLast = number === steps.length - 1;
	return [
		element(
			"header",
			{},
			span("number", `${number + 1} / ${steps.length}`),
			element("h2", {}, step.title),
			button({ id: "tour-end", class: "small", "aria-label": "end the tour", onclick: () => goToStep(app, -1) }, "✕"),
		),
		p("", ...text),
		div(
			"controls",
			button({ id: "tour-back", disabled: number === 0, onclick: () => goToStep(app, number - 1) }, "◂ back"),
			button({ id: "tour-on", class: "primary", onclick: () => goToStep(app, isLast ? -1 : number + 1) }, isLast ? "done" : "next ▸"),
			codeLink(app, step.code),
		),
	];
}
