/** Change something inside the model and see what becomes of the translation, against the original. */

import { attentions, parsePath, sidesOf, titleOf } from "./anatomy.js";
import { button, element, table, tableRow } from "./dom.js";
import { matrix } from "./matrix.js";
import { joined, percent, pieceLabels, readable, show } from "./numbers.js";
import { card, lead, probabilityBars, trouble } from "./parts.js";
import { distance } from "./tensor.js";

/** @param {App} app @returns {Edit[]} what the run in view changes */
function editsOf(app) {
	return app.doc.changes?.edits ?? [];
}

/** An edit in words. @param {App} app @param {Edit} edit */
export function editText(app, edit) {
	const original = app.data.document(0);
	/** @param {string} path */
	const name = (path) => {
		const part = parsePath(path);
		return part ? titleOf(part) : path;
	};
	switch (edit.kind) {
		case "head-off":
			return `${name(edit.attention)}: head ${edit.head + 1} off`;
		case "no-positions":
			return "no positions";
		case "no-mask":
			return "no look-ahead mask";
		case "replace-word": {
			const side = original.source ?? original.target;
			const word = side ? joined(side.pieces, side.words)[edit.index] : undefined;
			return `“${word ?? edit.index}” becomes “${edit.text}”`;
		}
		case "force-next":
			return `step ${edit.step + 1} must write “${edit.text}”`;
		case "edit-row":
			return `${name(edit.attention)}: head ${edit.head + 1}, row ${edit.row} set by hand`;
	}
}

/** @param {App} app @param {Edit[]} edits @param {HTMLElement} status */
async function apply(app, edits, status) {
	status.replaceChildren(element("p", { class: "note" }, "computing …"));
	try {
		if (!edits.length) app.go({ run: 0, place: null });
		else app.go({ run: (await app.data.whatIf(edits)).run, place: null });
		status.replaceChildren();
	} catch (error) {
		status.replaceChildren(trouble(error));
	}
}

/** @param {string} id @param {string} label @param {{value: string, text: string}[]} options @param {string} chosen */
function picker(id, label, options, chosen) {
	const select = element(
		"select",
		{ id, "aria-label": label },
		...options.map((option) => element("option", { value: option.value, selected: option.value === chosen }, option.text)),
	);
	return select;
}

/** The list of changes a reader can make. @param {App} app @param {(edit: Edit) => void} add */
function workshop(app, add) {
	const { doc, state } = app;
	const parts = attentions(doc);
	const numHeads = doc.model.config.num_heads;
	const paths = parts.map((part) => ({ value: part.path, text: titleOf(part) }));
	const heads = Array.from({ length: numHeads }, (_, head) => ({ value: String(head), text: `head ${head + 1}` }));
	const offPath = picker("off-attention", "attention", paths, state.attention);
	const offHead = picker("off-head", "head", heads, String(state.head));
	const side = doc.source ?? doc.target;
	const words = side
		? joined(side.pieces, side.words)
				.map((text, i) => ({ value: String(i), text }))
				.filter((word) => !/^<.*>$/.test(word.text))
		: [];
	const word = picker("change-index", "word", words, words[0]?.value ?? "");
	const replacement = element("input", { type: "text", id: "change-text", placeholder: "another word", "aria-label": "another word" });
	const forced = element("input", { type: "text", id: "force-text", placeholder: "a word", "aria-label": "the word to force" });
	/** @param {string} title @param {string} text @param {...(HTMLElement | string)} children */
	const item = (title, text, ...children) =>
		element(
			"div",
			{ class: "what" },
			element("strong", {}, title),
			element("span", { class: "note" }, text),
			element("div", { class: "inline-form" }, ...children),
		);
	/** @param {string} id @param {string} text @param {() => Edit | null} make */
	const doing = (id, text, make) => {
		const press = () => {
			const edit = make();
			if (edit) add(edit);
		};
		return button({ id, onclick: press }, text);
	};
	return element(
		"div",
		{ class: "workshop" },
		item(
			"Turn a head off",
			"its mixture becomes zero",
			offPath,
			offHead,
			doing("do-head-off", "off", () => ({ kind: "head-off", attention: offPath.value, head: Number(offHead.value) })),
		),
		item(
			"Take positions away",
			"words become a bag",
			doing("do-no-positions", "remove", () => ({ kind: "no-positions" })),
		),
		doc.target
			? item(
					"Take the mask away",
					"the decoder may look ahead",
					doing("do-no-mask", "remove", () => ({ kind: "no-mask" })),
				)
			: "",
		item(
			"Change a word",
			"of the source",
			word,
			replacement,
			doing("do-replace-word", "change", () =>
				replacement.value.trim() ? { kind: "replace-word", index: Number(word.value), text: replacement.value } : null,
			),
		),
		doc.target
			? item(
					"Force the next word",
					`at step ${state.step + 1}, then write on`,
					forced,
					doing("do-force-next", "force", () =>
						forced.value.trim() ? { kind: "force-next", step: state.step, text: forced.value } : null,
					),
				)
			: "",
	);
}

/**
 * One attention row as sliders.
 * @param {App} app
 * @param {(edit: Edit) => void} add
 * @returns {Promise<HTMLElement | null>}
 */
async function rowEditor(app, add) {
	const part = parsePath(app.state.attention);
	if (!part || part.kind === "feed_forward") return null;
	const { rows, columns } = sidesOf(app.doc, part);
	const row = rows === app.doc.target ? app.state.step : app.state.token;
	const { head } = app.state;
	const weights = Array.from((await app.tensor(`${part.path}.weights`)).row(head, row));
	const isFuture = (/** @type {number} */ column) =>
		part.stack === "decoder" && part.kind === "self_attention" && column > row && app.doc.hidden["decoder.self"] === "future";
	const sum = element("b");
	const tell = () => {
		sum.textContent = show(
			weights.reduce((total, weight) => total + weight, 0),
			3,
		);
	};
	const sliders = weights.map((weight, column) => {
		const shown = element("span", { class: "digits" }, show(weight, 2));
		const slider = element("input", {
			type: "range",
			min: 0,
			max: 1,
			step: 0.01,
			value: weight,
			disabled: isFuture(column),
			"aria-label": `weight of ${columns.pieces[column]}`,
			oninput: (/** @type {Event} */ event) => {
				weights[column] = Number(/** @type {HTMLInputElement} */ (event.currentTarget).value);
				shown.textContent = show(weights[column] ?? 0, 2);
				tell();
			},
		});
		return element("label", {}, element("span", {}, readable(columns.pieces[column] ?? "")), slider, shown);
	});
	tell();
	return element(
		"details",
		{ class: "card" },
		element("summary", {}, `Write an attention row by hand: ${titleOf(part)}, head ${head + 1}, “${readable(rows.pieces[row] ?? "")}”`),
		element("div", { class: "sliders" }, ...sliders),
		element(
			"div",
			{ class: "inline-form" },
			element("span", { class: "note" }, "sum of the row: ", sum, " (a softmax would make it 1)"),
			button(
				{ id: "do-edit-row", onclick: () => add({ kind: "edit-row", attention: part.path, head, row, weights: [...weights] }) },
				"use this row",
			),
		),
	);
}

/** @param {App} app @returns {Promise<HTMLElement[]>} before and after */
async function comparison(app) {
	const before = app.data.document(0);
	const after = app.doc;
	const length = Math.max(before.output.length, after.output.length);
	/** @param {Written | undefined} each @param {string} role @param {number} step */
	const cells = (each, role, step) => [
		element("td", { class: "word" }, each ? readable(each.piece) : ""),
		element(
			"td",
			each ? { "data-role": role, "data-index": step, "data-value": each.probability } : {},
			each ? percent(each.probability) : "",
		),
	];
	const rows = Array.from({ length }, (_, step) => {
		const [old, now] = [before.output[step], after.output[step]];
		return tableRow(
			{ class: old?.token === now?.token ? "" : "here" },
			step + 1,
			...cells(old, "before", step),
			...cells(now, "after", step),
		);
	});
	const cards = [
		card("Piece by piece", table(["", "original", "", "what if", ""], rows)),
		card(`What if: step ${app.state.step + 1}`, probabilityBars(app, app.state.step, 8)),
	];
	const same = before.source && after.source && before.source.tokens.join() === after.source.tokens.join();
	/** @type {HTMLElement[]} */
	const lists = [element("div", { class: "columns" }, ...cards)];
	if (same && app.has("memory")) {
		const [old, now] = await Promise.all([app.data.tensor("memory", 0), app.tensor("memory")]);
		const moved = after.source?.pieces.map((piece, i) => `${readable(piece)} ${show(distance(old.row(i), now.row(i)), 2)}`).join(" · ");
		lists.push(element("p", { class: "note" }, `How far the memory of each piece moved: ${moved}`));
	}
	const part = parsePath(app.state.attention);
	if (part && part.kind !== "feed_forward" && app.has(`${part.path}.weights`)) {
		const squares = await Promise.all(
			[before, after].map(async (doc, i) => {
				const weights = await app.data.tensor(`${part.path}.weights`, doc.run);
				const sides = sidesOf(doc, part);
				return matrix({
					title: i ? "what if" : "original",
					note: `${titleOf(part)}, head ${app.state.head + 1}`,
					rows: pieceLabels(sides.rows),
					columns: pieceLabels(sides.columns),
					value: (row, column) => weights.at([app.state.head, row, column]),
					place: (row, column) => ({ name: weights.name, index: [app.state.head, row, column] }),
					scale: "share",
				});
			}),
		);
		lists.push(card("Attention before and after", element("div", { class: "squares" }, ...squares)));
	}
	return lists;
}

/** @type {Panel} */
export const whatIfPanel = {
	id: "what-if",
	title: "What if",
	keys: ["attention", "head", "step", "token"],
	fits: (app) => app.doc.output.length > 0,
	async draw(app) {
		const status = element("div", { id: "what-if-status", "aria-live": "polite" });
		const edits = editsOf(app);
		/** @param {Edit} edit */
		const add = (edit) => apply(app, [...edits, edit], status);
		const original = app.data.document(0);
		const parts = [
			lead(
				"Reach in and change something. The model runs again with your change, search and all, and every panel of this page then shows the changed run.",
			),
			element("section", { class: "card" }, workshop(app, add), status),
			await rowEditor(app, add),
		];
		if (!app.data.isLive) parts.splice(1, 2, trouble("A saved page holds one run. Start `regard look` to change it."));
		if (edits.length) {
			parts.push(
				element(
					"section",
					{ class: "card", id: "what-if-result" },
					element(
						"ul",
						{ class: "edits" },
						...edits.map((edit, i) =>
							element(
								"li",
								{},
								editText(app, edit),
								" ",
								button(
									{
										class: "small",
										"aria-label": "take this change back",
										onclick: () =>
											apply(
												app,
												edits.filter((_, j) => j !== i),
												status,
											),
									},
									"✕",
								),
							),
						),
					),
					element(
						"p",
						{ class: "versus" },
						element("span", {}, "original"),
						element("b", { id: "text-before" }, original.target?.text ?? ""),
					),
					element(
						"p",
						{ class: "versus" },
						element("span", {}, "what if"),
						element(
							"b",
							{ id: "text-after", class: app.doc.target?.text === original.target?.text ? "" : "changed" },
							app.doc.target?.text ?? "",
						),
					),
				),
				...(await comparison(app)),
			);
		}
		return parts.filter((node) => node !== null);
	},
};

/**
 * The line under the head of the page that says which run is in view.
 * @param {App} app
 * @returns {HTMLElement[]} empty for the original
 */
export function runBanner(app) {
	const { doc } = app;
	if (doc.run === 0) return [];
	const back = button({ class: "small", id: "back-to-original", onclick: () => app.go({ run: 0, place: null }) }, "back to the original");
	if (!doc.changes) return [element("span", {}, `You see ${doc.model.name}, the second model.`), back];
	return [
		element("span", {}, `What if: ${doc.changes.edits.map((edit) => editText(app, edit)).join("; ")}.`),
		element("span", { class: "note" }, `original: ${doc.changes.original_text}`),
		back,
	];
}
