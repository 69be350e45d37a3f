/** How the output was searched, and how else it could be: the temperature reshapes the probabilities, the beam widens the search. */

import { bar, button, div, element, p, span } from "./dom.js";
import { percent, readable } from "./numbers.js";
import { card, codeLink } from "./parts.js";
import { total } from "./tensor.js";
import { apply } from "./whatif.js";

const SHOWN = 8;

/**
 * What a token is drawn from: the softmax of the scores divided by the temperature, of which only the smallest set with this much probability stays.
 * @param {Float32Array} logits @param {number} temperature @param {number} topP @param {number} topK
 */
export function drawnFrom(logits, temperature, topP = 1, topK = 0) {
	const largest = logits.reduce((most, value) => Math.max(most, value), -Infinity);
	const shares = Float64Array.from(logits, (value) => Math.exp((value - largest) / temperature));
	const order = Array.from(shares.keys()).sort((a, b) => (shares[b] ?? 0) - (shares[a] ?? 0));
	const kept = topK ? order.slice(0, topK) : order;
	const needed = topP * total(kept.map((token) => shares[token] ?? 0));
	let [sum, count] = [0, 0];
	while (count < kept.length && (count === 0 || sum < needed)) sum += shares[kept[count++] ?? 0] ?? 0;
	const probabilities = new Float64Array(shares.length);
	for (const token of kept.slice(0, count)) probabilities[token] = (shares[token] ?? 0) / sum;
	return { probabilities, count };
}

/** @param {string} id @param {string} label @param {[number, number, number]} range first, last, step @param {number} value @param {(value: number) => void} change */
function slider(id, label, [min, max, step], value, change) {
	const shown = span("digits", value);
	const oninput = (/** @type {any} */ event) => {
		shown.textContent = event.currentTarget.value;
		change(Number(event.currentTarget.value));
	};
	return element("label", { class: "choice" }, span("choice-label", label), element("input", { type: "range", id, min, max, step, value, oninput }), " ", shown);
}

/** @param {App} app @param {Extract<Edit, {kind: "search"}>["settings"]} settings @param {HTMLElement} status */
function searchWith(app, settings, status) {
	const edits = (app.doc.changes?.edits ?? []).filter((edit) => edit.kind !== "search");
	apply(app, [...edits, { kind: "search", settings }], status);
}

/** The temperature: what the next token is or would be drawn from. @param {App} app @param {Float32Array} logits of the step in view */
export function temperatureCard(app, logits) {
	const { search, output } = app.doc;
	const written = output[app.state.step];
	const isSampled = search?.method === "sample";
	const isGiven = app.state.step < app.numGiven;
	let temperature = isSampled ? search.temperature : 1;
	const list = element("ol", { class: "bars" });
	const note = p("note");
	const redraw = () => {
		const { probabilities, count } = drawnFrom(logits, temperature, isSampled ? search.top_p : 1, isSampled ? search.top_k : 0);
		const shown = (written?.top ?? []).slice(0, SHOWN);
		if (written && !shown.some((each) => each.token === written.token)) shown.push(written);
		const items = shown.map((each) => {
			const share = probabilities[each.token] ?? 0;
			const text = share ? percent(share) : "not drawn";
			const label = element("b", {}, readable(each.token_string));
			return element("li", { class: each === written || each.token === written?.token ? "chosen" : "" }, label, span("track", bar(share)), element("span", { "data-value": share }, text));
		});
		list.replaceChildren(...items);
		note.textContent = `${temperature < 1 ? "Below 1 the probable tokens gain" : temperature > 1 ? "Above 1 the improbable tokens gain" : "At 1 these are the model's probabilities"}${isSampled && search.top_p < 1 ? `. Only the ${count} most probable tokens, which together have ${percent(search.top_p)}, are drawn from` : ""}.`;
	};
	redraw();
	const move = (/** @type {number} */ value) => {
		temperature = value;
		redraw();
	};
	const seed = element("input", { type: "number", id: "seed", min: 0, step: 1, value: search?.seed ?? 1, "aria-label": "seed" });
	const status = element("div", { "aria-live": "polite" });
	const write = () => searchWith(app, { method: "sample", temperature, seed: Number(seed.value) || 0 }, status);
	const how = isSampled
		? `This text was drawn at random, token by token: seed ${search.seed}, temperature ${search.temperature}${search.top_p < 1 ? `, top_p ${search.top_p}` : ""}. The same seed draws the same text. ${isGiven ? "This token was given." : ""}`
		: "This text was not drawn at random. If it were, the scores would be divided by a temperature before the softmax.";
	return card(
		[isSampled ? "How the token was drawn" : "Temperature", codeLink(app, "search")],
		p("", how),
		slider("temperature", "temperature", [0.1, 2, 0.05], temperature, move),
		list,
		note,
		app.data.isLive && div("inline-form", element("label", {}, "seed ", seed), button({ id: "do-sample", onclick: write }, "write with these")),
		status,
	);
}

/** The size of the beam, and the way to another. @param {App} app @returns {HTMLElement[]} */
export function beamSlider(app) {
	const { search } = app.doc;
	if (!search || !app.data.isLive) return [];
	let beam = search.method === "beam" ? search.beam : 1;
	const status = element("div", { "aria-live": "polite" });
	return [
		div(
			"inline-form",
			slider("beam", "hypotheses in the beam", [1, 12, 1], beam, (value) => {
				beam = value;
			}),
			button({ id: "do-beam", onclick: () => searchWith(app, { method: "beam", beam }, status) }, "search again"),
			p("note", beam === 1 ? "One hypothesis: the most probable token is written each time." : ""),
		),
		status,
	];
}
