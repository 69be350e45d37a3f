/** The changes a reader can ask for: one form for each kind. */

import { button, div, element, field, form, span } from "./dom.js";
import { isSpecial, joined, readable, show } from "./numbers.js";
import { attentions, parsePath, sidesOf, titleOf } from "./structure.js";
import { range, total } from "./tensor.js";

/** @param {string} id @param {string} label @param {Choice[]} options @param {string} [chosen] */
function picker(id, label, options, chosen) {
	const items = options.map(([value, text]) => element("option", { value, selected: String(value) === chosen }, text));
	return element("select", { id, "aria-label": label }, ...items);
}

/** @param {App} app @param {(edit: Edit) => void} add */
export function editForms(app, add) {
	const { doc, state } = app;
	const paths = attentions(doc).map((part) => /** @type {Choice} */ ([part.path, titleOf(part)]));
	const heads = range(app.config.num_heads).map((head) => /** @type {Choice} */ ([head, `head ${head + 1}`]));
	const offPath = picker("off-attention", "attention", paths, state.attention);
	const offHead = picker("off-head", "head", heads, String(state.head));
	const side = doc.source ?? doc.target;
	const words = joined(side?.token_strings ?? [], side?.words ?? [])
		.map((text, i) => /** @type {Choice} */ ([i, text]))
		// In a decoder-only model only the given text can be changed.
		.filter(([i, text]) => !isSpecial(String(text)) && (doc.source || (side?.words[Number(i)]?.[0] ?? 0) <= app.numGiven));
	const word = picker("change-index", "word", words);
	const replacement = field("change-text", "another word");
	const forced = field("force-text", "a word");
	/** @param {string} title @param {string} text @param {string} id @param {string} verb @param {HTMLElement[]} inputs @param {() => Edit} make */
	const item = (title, text, id, verb, inputs, make) => {
		const submit = () => {
			if (inputs.every((input) => !(input instanceof HTMLInputElement) || input.value.trim())) add(make());
		};
		const line = div("inline-form", ...inputs, element("button", { id, type: "submit" }, verb));
		return form("what", submit, element("strong", {}, title), span("note", text), line);
	};
	return div(
		"edit-forms",
		item("Turn any head off", "this head contributes nothing", "do-head-off", "off", [offPath, offHead], () => ({
			kind: "head-off",
			attention: offPath.value,
			head: Number(offHead.value),
		})),
		app.config.position !== "none" && item("Take positions away", "the model loses the order of the words", "do-no-positions", "remove", [], () => ({ kind: "no-positions" })),
		doc.hidden["decoder.self"] && app.has("decoder.layers.0.self_attention.masked") && item("Take the mask away", "the decoder sees later tokens too", "do-no-mask", "remove", [], () => ({ kind: "no-mask" })),
		item("Change a word", doc.source ? "in the source" : "in the given text", "do-replace-word", "change", [word, replacement], () => ({
			kind: "replace-word",
			index: Number(word.value),
			text: replacement.value,
		})),
		doc.target && item("Force the next word", `at step ${state.step + 1}; the search continues from there`, "do-force-next", "force", [forced], () => ({
			kind: "force-next",
			step: state.step,
			text: forced.value,
		})),
	);
}

/** One attention row as sliders. @param {App} app @param {(edit: Edit) => void} add @returns {Promise<HTMLElement | null>} */
export async function rowEditor(app, add) {
	const part = parsePath(app.state.attention);
	if (!part || part.kind === "feed_forward") return null;
	const { rows, columns } = sidesOf(app.doc, part);
	const row = rows === app.doc.target ? app.state.step : app.state.token;
	const { head } = app.state;
	const weights = Array.from((await app.tensor(`${part.path}.weights`)).row(head, row));
	const seesPast = part.stack === "decoder" && part.kind === "self_attention" && app.doc.hidden["decoder.self"] === "future";
	const sum = element("b");
	const tell = () => {
		sum.textContent = show(total(weights), 3);
	};
	const sliders = weights.map((weight, column) => {
		const shown = span("digits", weight.toFixed(3));
		const slider = element("input", {
			type: "range",
			min: 0,
			max: 1,
			step: 0.01,
			value: weight,
			disabled: seesPast && column > row,
			"aria-label": `weight of ${columns.token_strings[column]}`,
			oninput: (event) => {
				const value = Number(event.currentTarget.value);
				weights[column] = value;
				shown.textContent = value.toFixed(3);
				tell();
			},
		});
		return element("label", {}, span("", readable(columns.token_strings[column] ?? "")), slider, shown);
	});
	tell();
	return element(
		"details",
		{ class: "card" },
		element("summary", {}, `Write an attention row by hand: ${titleOf(part)}, head ${head + 1}, “${readable(rows.token_strings[row] ?? "")}”`),
		div("sliders", ...sliders),
		div(
			"inline-form",
			span("note", "sum of the row: ", sum, " (after a softmax it is 1)"),
			button(
				{ id: "do-edit-row", onclick: () => add({ kind: "edit-row", attention: part.path, head, row, weights: [...weights] }) },
				"use this row",
			),
		),
	);
}
