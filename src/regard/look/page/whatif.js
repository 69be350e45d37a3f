/** Changes inside the model, and the changed translation beside the original. */

import { parsePath, titleOf } from "./anatomy.js";
import { button, div, element, p, section, span, table, tableRow } from "./dom.js";
import { joined, percent, readable, show } from "./numbers.js";
import { card, lead, probabilityBars, square, trouble } from "./parts.js";
import { finalText } from "./stages.js";
import { distance } from "./tensor.js";
import { rowEditor, workshop } from "./workshop.js";

/** The run that the one in view changes, or itself. @param {App} app */
function originalOf(app) {
	return app.data.document(app.doc.changes?.original ?? app.state.run);
}

/** An edit in words. @param {App} app @param {Edit} edit */
function editText(app, edit) {
	const part = "attention" in edit ? parsePath(edit.attention) : null;
	const head = part && "head" in edit ? `${titleOf(part)}: head ${edit.head + 1}` : "";
	switch (edit.kind) {
		case "head-off":
			return `${head} off`;
		case "no-positions":
			return "no positions";
		case "no-mask":
			return "no look-ahead mask";
		case "replace-word": {
			const { source, target } = originalOf(app);
			const side = source ?? target;
			return `“${side ? joined(side.token_strings, side.words)[edit.index] : edit.index}” becomes “${edit.text}”`;
		}
		case "force-next":
			return `step ${edit.step + 1} is forced to “${edit.text}”`;
		case "edit-row":
			return `${head}, row ${edit.row} set by hand`;
	}
}

/** @param {App} app @param {Edit[]} edits @param {HTMLElement} status */
async function apply(app, edits, status) {
	status.replaceChildren(p("note", "computing …"));
	try {
		const { run } = originalOf(app);
		const inView = app.state.run;
		const changed = edits.length ? (await app.data.whatIf(run, edits)).run : run;
		// A reader who went back meanwhile stays there.
		if (app.state.run === inView) app.go({ run: changed, place: null, focus: "result" });
	} catch (error) {
		status.replaceChildren(trouble(error));
	}
}

/** A sentence, the words marked that another does not have. @param {string} text @param {string} other */
function marked(text, other) {
	const known = new Set(other.split(" "));
	return text.split(" ").flatMap((word, i) => [i > 0 && " ", known.has(word) ? word : element("mark", {}, word)]);
}

/** What was changed, each with a way back, and both sentences. @param {App} app @param {Doc} before @param {Edit[]} edits @param {HTMLElement} status */
function result(app, before, edits, status) {
	const items = edits.map((edit) => {
		const others = edits.filter((each) => each !== edit);
		return element(
			"li",
			{},
			editText(app, edit),
			" ",
			button({ class: "small", "aria-label": "undo this change", onclick: () => apply(app, others, status) }, "✕"),
		);
	});
	const [old, now] = [finalText(before), finalText(app.doc)];
	/** @param {string} name @param {string} id @param {Child[]} text */
	const versus = (name, id, text) => p("versus", span("", name), element("b", { id }, ...text));
	return element(
		"section",
		{ class: "card", id: "part-result" },
		element("ul", { class: "edits" }, ...items),
		versus("original", "text-before", [old]),
		versus("what if", "text-after", marked(now, old)),
	);
}

/** @param {App} app @param {Doc} before @returns {Promise<HTMLElement[]>} before and after */
async function comparison(app, before) {
	const after = app.doc;
	/** @param {Written | undefined} each @param {string} role @param {number} step */
	const cells = (each, role, step) => [
		element("td", { class: "word" }, each && readable(each.token_string)),
		element("td", each ? { "data-role": role, "data-index": step, "data-value": each.probability } : {}, each && percent(each.probability)),
	];
	const longer = before.output.length > after.output.length ? before.output : after.output;
	const rows = longer.map((_, step) => {
		const [old, now] = [before.output[step], after.output[step]];
		return tableRow(
			{ class: old?.token === now?.token ? "" : "here" },
			step + 1,
			...cells(old, "before", step),
			...cells(now, "after", step),
		);
	});
	/** @type {HTMLElement[]} */
	const nodes = [
		div(
			"columns",
			card("Token by token", table(["step", "original", "", "what if", ""], rows, "pairs")),
			card(`What if: step ${app.state.step + 1}`, probabilityBars(app, app.state.step, 8)),
		),
	];
	if (before.source && app.has("memory") && before.source.tokens.join() === after.source?.tokens.join()) {
		const [old, now] = await Promise.all([app.data.tensor("memory", before.run), app.tensor("memory")]);
		const moved = before.source.token_strings.map((tokenString, i) => `${readable(tokenString)} ${show(distance(old.row(i), now.row(i)), 2)}`).join(" · ");
		nodes.push(p("note", `Distance between the old and the new memory of each token: ${moved}`));
	}
	const { attention, head } = app.state;
	const part = parsePath(attention);
	if (part && app.has(`${part.path}.weights`)) {
		const note = `${titleOf(part)}, head ${head + 1}`;
		const squares = await Promise.all(
			[before, after].map((doc, i) => square(app, doc, part, "weights", { title: i ? "what if" : "original", note })),
		);
		nodes.push(card("Attention before and after", div("squares", ...squares)));
	}
	return nodes;
}

/** @type {Panel} */
export const whatIfPanel = {
	id: "what-if",
	title: "What if",
	keys: ["attention", "head", "step", "token"],
	fits: (app) => app.doc.output.length > 0,
	async draw(app) {
		const status = element("div", { id: "what-if-status", "aria-live": "polite" });
		const edits = app.doc.changes?.edits ?? [];
		/** @param {Edit} edit */
		const add = (edit) => apply(app, [...edits, edit], status);
		const before = originalOf(app);
		const about = lead(
			"Change something inside the model. Encoder, decoder and search run again with your change, and every panel then shows the changed run.",
		);
		if (!app.data.isLive) return [about, trouble("A saved page holds one run. Start `regard look` to change it.")];
		return [
			about,
			...(edits.length ? [result(app, before, edits, status)] : []),
			section("card", workshop(app, add), status),
			(await rowEditor(app, add)) ?? "",
			...(edits.length ? await comparison(app, before) : []),
		];
	},
};

/** The line under the head of the page that says which run is in view. @param {App} app @returns {HTMLElement[]} empty for the original */
export function runBanner(app) {
	const { doc } = app;
	if (doc.run === 0) return [];
	const original = originalOf(app);
	if (!doc.changes) {
		if (app.data.documents.get(0)?.compare?.run !== doc.run) return [];
		const back = button({ class: "small", id: "back-to-original", onclick: () => app.go({ run: 0, place: null }) }, "back to the first model");
		return [span("", `You see ${doc.model.name}, the second model.`), back];
	}
	return [
		span("", `What if: ${doc.changes.edits.map((edit) => editText(app, edit)).join("; ")}.`),
		span("note", `original: ${finalText(original)}`),
		button({ class: "small", id: "back-to-original", onclick: () => app.go({ run: original.run, place: null }) }, "back to the original"),
	];
}
