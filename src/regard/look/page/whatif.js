/** Changes inside the model, and the changed translation beside the original. */

import { button, div, element, p, section, span, table, tableRow } from "./dom.js";
import { editForms, rowEditor } from "./edit_forms.js";
import { hasOutput } from "./map.js";
import { joined, percent, readable, show } from "./numbers.js";
import { asking, card, lead, probabilityBars, signed, square, trouble } from "./parts.js";
import { ranking } from "./ranking.js";
import { cosine, sentenceVector } from "./reading.js";
import { finalText } from "./stages.js";
import { attentions, parsePath, titleOf } from "./structure.js";
import { distance, total } from "./tensor.js";

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
			return `${head}, row ${edit.row + 1} set by hand`;
		case "search": {
			const { method, beam, temperature, seed } = edit.settings;
			return method === "sample" ? `drawn with temperature ${temperature}, seed ${seed}` : `a beam of ${beam}`;
		}
	}
}

/** @param {App} app @param {Edit[]} edits @param {HTMLElement} status */
export async function apply(app, edits, status) {
	status.replaceChildren(p("note", "computing …"));
	const { run } = originalOf(app);
	const inView = app.state.run;
	const last = edits.at(-1);
	const head = last && "head" in last ? { attention: last.attention, head: last.head } : {};
	await asking(status)(async () => (edits.length ? (await app.data.whatIf(run, edits)).run : run), (changed) => {
		// A reader who went back meanwhile stays there.
		if (app.state.run === inView) app.go({ run: changed, place: null, focus: "result", ...head });
	});
}

/** A sentence, the words marked that another does not have, or has less often. @param {string} text @param {string} other */
function marked(text, other) {
	const left = other.split(" ");
	return text.split(" ").flatMap((word, i) => {
		const found = left.indexOf(word);
		if (found >= 0) left.splice(found, 1);
		return [i > 0 && " ", found >= 0 ? word : element("mark", {}, word)];
	});
}

/** The logarithm of the probability of what a run wrote. @param {Doc} doc */
function logProbability(doc) {
	return total(doc.output.slice(doc.target?.num_given ?? 0).map((each) => Math.log(each.probability)));
}

/** What a change does to the log-probability of the output. @param {Doc} before @param {Doc} after */
function difference(before, after) {
	const [old, now] = [logProbability(before), logProbability(after)];
	const isSame = before.output.map((each) => each.token).join() === after.output.map((each) => each.token).join();
	const change = element("b", { id: "log-probability-change", "data-value": now - old }, signed(now - old));
	return p("note", isSame ? "The text stays the same. Its log-probability changes by " : "The text changes, and its log-probability with it by ", change, `: from ${show(old, 3)} to ${show(now, 3)}.`);
}

/** What was changed, each with a way back, and both sentences. @param {App} app @param {Doc} before @param {Edit[]} edits @param {HTMLElement} status */
function result(app, before, edits, status) {
	const items = edits.map((edit) => {
		const undo = () => apply(app, edits.filter((each) => each !== edit), status);
		return element("li", {}, editText(app, edit), " ", button({ class: "small", "aria-label": "undo this change", onclick: undo }, "✕"));
	});
	const [old, now] = [finalText(before), finalText(app.doc)];
	/** @param {string} name @param {string} id @param {Child[]} text */
	const versus = (name, id, text) => p("versus", span("", name), element("b", { id }, ...text));
	return element(
		"section",
		{ class: "card", id: "part-result" },
		element("ul", { class: "edits" }, ...items),
		app.doc.target && versus("original", "text-before", [old]),
		app.doc.target && versus("what if", "text-after", marked(now, old)),
		app.doc.target && difference(before, app.doc),
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
	const nodes = [];
	if (hasOutput(app)) {
		const pairs = table([app.isReader ? "place" : "step", "original", "", "what if", ""], rows, "pairs");
		nodes.push(div("columns", card("Token by token", pairs), card(`What if: ${app.isReader ? "place" : "step"} ${app.here + 1}`, probabilityBars(app, app.here, 8))));
	}
	if (app.isReader) {
		const vectors = await Promise.all([app.data.tensor("memory", before.run), app.tensor("memory")]);
		const [old = [], now = []] = vectors.map((each) => sentenceVector(each, after));
		const near = cosine(old, now);
		nodes.push(card("The sentence vector", p("", "The cosine of the old and the new vector is ", element("b", { id: "vector-cosine", "data-value": near }, show(near, 4)), ". At 1 they point the same way.")));
	}
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

/** The ranking of the run in view, which keeps what the reader has chosen. @type {{run: number, card: HTMLElement | string}} */
let kept = { run: -1, card: "" };

/** @param {App} app */
function rankingOf(app) {
	const { run } = app.state;
	/** @param {Edit[]} more @param {HTMLElement} status */
	const add = (more, status) => apply(app, [...(app.doc.changes?.edits ?? []), ...more], status);
	if (kept.run !== run) kept = { run, card: app.has(`${attentions(app.doc)[0]?.path}.context`) ? ranking(app, add) : "" };
	return kept.card;
}

/** @type {Panel} */
export const whatIfPanel = {
	id: "what-if",
	title: "What if",
	keys: ["attention", "head", "step", "token"],
	fits: (app) => app.doc.output.length > 0 || app.isReader,
	async draw(app) {
		const status = element("div", { id: "what-if-status", "aria-live": "polite" });
		const edits = app.doc.changes?.edits ?? [];
		/** @param {Edit} edit */
		const add = (edit) => apply(app, [...edits, edit], status);
		const before = originalOf(app);
		const about = lead(
			`Change something inside the model. ${app.isReader ? "The encoder runs" : "The model and its search run"} again with your change, and every panel then shows the changed run.`,
		);
		if (!app.data.isLive) return [about, trouble(`A saved page holds one run. ${app.data.hindrance} Start \`regard look\` to change it.`)];
		return [
			about,
			...(edits.length ? [result(app, before, edits, status)] : []),
			rankingOf(app),
			section("card", editForms(app, add), status),
			(await rowEditor(app, add)) ?? "",
			...(edits.length ? await comparison(app, before) : []),
		];
	},
};

/** The line that says which run is in view. @param {App} app @returns {HTMLElement[]} empty for the original */
export function runBanner(app) {
	const { doc } = app;
	if (doc.run === 0) return [];
	const original = originalOf(app);
	/** @param {number} run @param {string} text */
	const back = (run, text) => button({ class: "small", id: "back-to-original", onclick: () => app.go({ run, place: null }) }, text);
	if (!doc.changes) {
		if (app.data.documents.get(0)?.compare?.run !== doc.run) return [];
		return [span("", `You see ${doc.model.name}, the second model.`), back(0, "back to the first model")];
	}
	return [
		span("", `What if: ${doc.changes.edits.map((edit) => editText(app, edit)).join("; ")}.`),
		doc.target && span("note", `original: ${finalText(original)}`),
		back(original.run, "back to the original"),
	].filter((each) => each !== null);
}
