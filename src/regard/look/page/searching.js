/** How the output was searched and how else it could be: temperature, beam. */

import { bar, button, div, element, p, span } from "./dom.js";
import { percent, readable } from "./numbers.js";
import { card, codeLink, listed } from "./parts.js";
import { extent, total } from "./tensor.js";
import { apply } from "./whatif.js";

const SHOWN = 8;

/** What a token is drawn from: the softmax of scores / temperature, of which the smallest set with the share top_p stays. @param {Float32Array} logits @param {number} temperature @param {number} topP @param {number} topK */
function drawnFrom(logits, temperature, topP, topK) {
	const [, largest] = extent(logits);
	const shares = Float64Array.from(logits, (value) => Math.exp((value - largest) / temperature));
	/** @param {number} token */
	const share = (token) => shares[token] ?? 0;
	const order = Array.from(shares.keys()).sort((a, b) => share(b) - share(a)).slice(0, topK || undefined);
	const needed = topP * total(order.map(share));
	let [sum, count] = [0, 0];
	while (count < order.length && (!count || sum < needed)) sum += share(order[count++] ?? 0);
	const kept = new Set(order.slice(0, count));
	return { count, probability: (/** @type {number} */ token) => (kept.has(token) ? share(token) / sum : 0) };
}

/** @param {string} id @param {string} label @param {number[]} range first, last, step @param {number} value @param {(value: number) => void} change */
function slider(id, label, [min, max, step], value, change) {
	const shown = span("digits", value);
	const input = element("input", { type: "range", id, min, max, step, value });
	input.addEventListener("input", () => {
		shown.textContent = input.value;
		change(Number(input.value));
	});
	return element("label", { class: "choice" }, span("choice-label", label), input, " ", shown);
}

/** A button that searches again. @param {App} app @param {string} id @param {string} text @param {() => Extract<Edit, {kind: "search"}>["settings"]} settings */
function again(app, id, text, settings) {
	const status = div("");
	const onclick = () => {
		const edits = (app.doc.changes?.edits ?? []).filter((edit) => edit.kind !== "search");
		apply(app, [...edits, { kind: "search", settings: settings() }], status);
	};
	return [button({ id, onclick }, text), status];
}

/** The temperature: what the next token is or would be drawn from. @param {App} app @param {Float32Array} logits of the step in view */
export function temperatureCard(app, logits) {
	const { search, output } = app.doc;
	const written = output[app.state.step];
	const isSampled = search?.method === "sample";
	const [topP, topK] = isSampled ? [search.top_p, search.top_k] : [1, 0];
	let temperature = isSampled ? search.temperature : 1;
	const list = element("ol", { class: "bars", id: "temperature-bars" });
	const note = p("note");
	const redraw = (/** @type {number} */ value) => {
		temperature = value;
		const { probability, count } = drawnFrom(logits, temperature, topP, topK);
		const items = listed(written, SHOWN).map((each) => {
			const share = probability(each.token);
			const shown = element("span", { "data-value": share }, share ? percent(share) : "not drawn");
			return element("li", { class: each.token === written?.token ? "chosen" : "" }, element("b", {}, readable(each.token_string)), span("track", bar(share)), shown);
		});
		list.replaceChildren(...items);
		const effect = temperature === 1 ? "At 1 these are the model's probabilities" : `${temperature < 1 ? "Below 1 the probable" : "Above 1 the improbable"} tokens gain`;
		note.textContent = `${effect}.${topP < 1 ? ` Only the ${count} most probable, which together have at least ${percent(topP)}, can be drawn.` : ""}`;
	};
	redraw(temperature);
	const seed = element("input", { type: "number", id: "seed", min: 0, step: 1, value: search?.seed ?? 1 });
	const how = isSampled
		? `This text was drawn at random, token by token: seed ${search.seed}, temperature ${temperature}${topP < 1 ? `, top_p ${topP}` : ""}. The same seed draws the same text.`
		: "This text was not drawn at random. If it were, the scores would be divided by a temperature before the softmax.";
	return card(
		[isSampled ? "How the token was drawn" : "Temperature", codeLink(app, "search")],
		p("", how),
		slider("temperature", "temperature", [0.1, 2, 0.05], temperature, redraw),
		list,
		note,
		app.data.isLive &&
			div("inline-form", element("label", {}, "seed ", seed), ...again(app, "do-sample", "write with these", () => ({ method: "sample", temperature, seed: Number(seed.value) }))),
	);
}

/** The size of the beam, and a search with another. @param {App} app @returns {HTMLElement | null} */
export function beamSlider(app) {
	const { search } = app.doc;
	if (!search || !app.data.isLive) return null;
	let beam = search.method === "beam" ? search.beam : 1;
	const choose = slider("beam", "hypotheses in the beam", [1, 12, 1], beam, (value) => {
		beam = value;
	});
	return div("inline-form", choose, ...again(app, "do-beam", "search again", () => ({ method: "beam", beam })));
}
