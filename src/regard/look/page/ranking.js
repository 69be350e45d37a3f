/** How much each head matters: the change of the output's log-probability when it is off, the largest first. */

import { attentions, parsePath, titleOf } from "./anatomy.js";
import { bar, button, cell, div, element, p, table, tableRow } from "./dom.js";
import { show } from "./numbers.js";
import { card, trouble } from "./parts.js";
import { total } from "./tensor.js";

/** @typedef {{path: string, head: number, effect: number}} Effect */

/** A change with its sign. @param {number} value */
export const signed = (value) => `${value > 0 ? "+" : ""}${show(value, 3)}`;

/** The heads of the run in view, ranked while the server computes one attention after another; the strongest is chosen. @param {App} app @param {(edits: Edit[]) => void} add @returns {HTMLElement} */
export function ranking(app, add) {
	const { run } = app.state;
	/** @type {Effect[]} */
	const found = [];
	/** @type {Set<string>} what the reader chose; empty until then */
	const chosen = new Set();
	let [isTouched, isDone] = [false, false];
	const state = element("p", { class: "note", id: "ranking-state", role: "status" });
	const rows = element("div", { id: "ranking" });
	const off = button({ id: "do-heads-off", class: "primary", disabled: true }, "turn off");
	/** @param {Effect} each */
	const id = (each) => `${each.path}/${each.head}`;
	const tell = () => {
		off.disabled = chosen.size === 0 || (!isTouched && !isDone);
		off.textContent = chosen.size > 1 ? `turn ${chosen.size} heads off` : "turn this head off";
	};
	const draw = () => {
		found.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
		const [first] = found;
		if (!isTouched && first) {
			chosen.clear();
			chosen.add(id(first));
		}
		const most = Math.abs(first?.effect ?? 1) || 1;
		const lines = found.map((each) => {
			const part = parsePath(each.path);
			const name = `${part ? titleOf(part) : each.path}, head ${each.head + 1}`;
			const box = element("input", { type: "checkbox", "aria-label": name, checked: chosen.has(id(each)) });
			box.addEventListener("change", () => {
				isTouched = true;
				if (box.checked) chosen.add(id(each));
				else chosen.delete(id(each));
				tell();
			});
			const share = element("td", { class: "bar-cell", "aria-hidden": "true" }, bar(Math.abs(each.effect) / most, each.effect < 0 ? "" : "negative"));
			return tableRow({}, element("label", {}, box, " ", name), share, cell(each.effect, null, signed(each.effect)));
		});
		rows.replaceChildren(table(["head", "", app.isReader ? "change of the cosine" : "change of the log-probability"], lines, "near"));
		tell();
	};
	off.addEventListener("click", () => {
		const heads = found.filter((each) => chosen.has(id(each)));
		add(heads.map(({ path, head }) => ({ kind: "head-off", attention: path, head })));
	});
	const compute = async () => {
		const parts = attentions(app.doc).filter((part) => app.has(`${part.path}.context`)).reverse();
		for (const [i, { path }] of parts.entries()) {
			state.textContent = `computing … ${i + 1} of ${parts.length}`;
			const effects = await app.data.effects(run, path);
			if (!rows.isConnected && i) return;
			effects.forEach((each, head) => found.push({ path, head, effect: total(each) }));
			draw();
		}
		isDone = true;
		tell();
		state.textContent = `All ${found.length} heads, each switched off alone; the text stays what it is.`;
	};
	compute().catch((error) => state.replaceChildren(trouble(error)));
	const about = app.isReader
		? "Below 0 the sentence vector turns away from what it was."
		: "Below 0 the model finds its own output less probable without the head: the head helps. Above 0 it would do better without. Most heads change little, so begin with the first. Choose several to see what they do together.";
	return card("Which heads matter", p("", about), state, rows, div("inline-form", off));
}
