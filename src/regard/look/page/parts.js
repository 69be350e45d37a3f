/** Small parts that several panels share. */

import { bar, button, cell, element, marks, p, section, span } from "./dom.js";
import { matrix } from "./matrix.js";
import { percent, readable, show, tokenLabels } from "./numbers.js";
import { sideOf, sidesOf, squareName } from "./structure.js";
import { extent } from "./tensor.js";

/** A traced array with one row a position and one column a feature. @param {App} app @param {string} name @param {Partial<MatrixOptions> & {head?: number}} [extra] */
export async function band(app, name, { head = 0, ...extra } = {}) {
	const values = await app.tensor(name);
	const [numRows = 0, numColumns = 0] = values.shape.slice(-2);
	/** @param {...number} cell */
	const index = (...cell) => (values.shape.length === 3 ? [head, ...cell] : cell);
	const side = sideOf(app.doc, name);
	return matrix({
		title: name.slice(name.lastIndexOf(".") + 1),
		note: `${numRows} × ${numColumns}`,
		rows: tokenLabels(side),
		columns: numColumns,
		value: (row, column) => values.at(index(row, column)),
		place: (row, column) => ({ name, index: index(row, column) }),
		scale: "signed",
		markedRow: side === app.doc.target ? app.state.step : app.state.token,
		rowHeight: 12,
		open: app.open,
		...extra,
	});
}

/**
 * A matrix of one head in a run: rows are queries, columns are keys.
 * @param {App} app
 * @param {Doc} doc
 * @param {SubLayer} part
 * @param {string} last scores, scaled, masked or weights
 * @param {Partial<MatrixOptions>} extra
 */
export async function square(app, doc, part, last, extra) {
	const { head } = app.state;
	const values = await app.data.tensor(squareName(part, last), doc.run);
	const { rows, columns } = sidesOf(doc, part);
	/** @param {number} row @param {number} column */
	const value = (row, column) => values.at([head, row, column]);
	const [low, high] = extent(rows.token_strings.flatMap((_, row) => columns.token_strings.map((_, column) => value(row, column))));
	const isShare = last === "weights";
	return matrix({
		title: last,
		rows: tokenLabels(rows),
		columns: tokenLabels(columns),
		value,
		place: (row, column) => ({ name: values.name, index: [head, row, column], run: doc === app.doc ? undefined : doc.run }),
		scale: isShare ? "share" : "signed",
		limit: isShare ? undefined : Math.max(-low, high),
		...extra,
	});
}

/** Where in the source a box is computed. @param {App} app @param {string} box */
export function codeLink(app, box) {
	const place = app.doc.code[box];
	if (!place) return null;
	const { file, line } = place;
	const shown = { class: "code-link", title: `computed in ${file}, line ${line}` };
	const label = `${/[^/]+(\/__init__\.py)?$/.exec(file)?.[0]}:${line}`;
	if (app.data.engineName === "python") return element("a", { ...shown, href: `api/code/${box}?run=${app.doc.run}#here`, target: "_blank" }, label);
	const text = app.data.sourceText(file);
	return text ? button({ ...shown, onclick: () => openSource(file, text.split("\n"), line) }, label) : element("span", shown, label);
}

/** A source file over the page, its line marked. @param {string} file @param {string[]} lines @param {number} line */
function openSource(file, lines, line) {
	const here = element("mark", {}, lines[line - 1]);
	const before = lines.slice(0, line - 1).map((each) => `${each}\n`);
	const close = button({ class: "small", "aria-label": "close", onclick: () => dialog.close() }, "✕");
	const code = element("pre", { tabindex: 0 }, before.join(""), here, "\n", lines.slice(line).join("\n"));
	const dialog = element("dialog", { class: "source", "aria-label": file }, element("header", {}, element("code", {}, file), close), code);
	dialog.addEventListener("close", () => dialog.remove());
	document.body.append(dialog);
	dialog.showModal();
	here.scrollIntoView({ block: "center" });
}

/** The most probable tokens of a step, and the written one. @param {Written | undefined} written @param {number} most @returns {Candidate[]} */
export function listed(written, most) {
	const top = (written?.top ?? []).slice(0, most);
	return !written || top.some((each) => each.token === written.token) ? top : [...top, written];
}

/** A share as a bar and a number. @param {number} share @param {number} value @param {string} [text] */
export function barCells(share, value, text = show(value, 3)) {
	return [element("td", { class: "bar-cell", "aria-hidden": "true" }, bar(Math.abs(share), value < 0 ? "negative" : "")), cell(value, null, text)];
}

/** A change with its sign. @param {number} value */
export const signed = (value) => `${value > 0 ? "+" : ""}${show(value, 3)}`;

/** The most probable tokens at a step, the written one marked. @param {App} app @param {number} step @param {number} most */
export function probabilityBars(app, step, most) {
	const written = app.doc.output[step];
	return element(
		"ol",
		{ class: "bars" },
		...listed(written, most).map((each) => {
			const place = { name: "probabilities", index: [step, each.token] };
			const shown = marks(each.probability, place);
			return element(
				"li",
				{ class: each.token === written?.token ? "chosen" : "" },
				element("b", { title: each.token_string }, readable(each.token_string)),
				span("track", bar(each.probability)),
				app.has("probabilities")
					? button({ class: "operand", title: "its arithmetic", ...shown, onclick: () => app.open(place) }, percent(each.probability))
					: element("span", shown, percent(each.probability)),
			);
		}),
	);
}

/** A sentence the reader can act on, when something cannot be shown. @param {unknown} error */
export function trouble(error) {
	return element("p", { class: "trouble", role: "alert" }, error instanceof Error ? error.message : String(error));
}

/** Asks, and draws the answer into a node; one that a newer question has overtaken is dropped. @param {HTMLElement} node */
export function asking(node) {
	let latest = 0;
	/** @template Answer @param {() => Promise<Answer>} ask @param {(answer: Answer) => (Node | string)[] | void} draw */
	return async (ask, draw) => {
		const mine = ++latest;
		const nodes = await ask().then((answer) => (mine === latest ? draw(answer) : [])).catch((error) => [trouble(error)]);
		if (mine === latest && nodes) node.replaceChildren(...nodes);
	};
}

/** A part of a panel. @param {Child | Child[]} title @param {...Child} children @returns {HTMLElement} */
export function card(title, ...children) {
	return section("card", element("h3", {}, ...[title].flat()), ...children);
}

/** What a panel says first. @param {...Child} children @returns {HTMLElement} */
export function lead(...children) {
	return p("lead", ...children);
}

/** What the norm of this model does. @param {App} app */
export function normText(app) {
	const { norm, d_model: width } = app.config;
	if (norm === "batch") return "Each feature is normalised by its mean and standard deviation in training, then scaled and shifted.";
	return norm === "rms"
		? `Each position is divided by the root mean square of its ${width} features, then scaled by learned gains.`
		: `Each position is normalised to mean 0 and standard deviation 1 over its ${width} features, then scaled and shifted by learned gains and biases.`;
}
