/** How much each head matters: the change of the output's log-probability when it is off, the largest first. */

import { button, div, element, p, table, tableRow } from "./dom.js";
import { barCells, card, signed, trouble } from "./parts.js";
import { attentions, titleOf } from "./structure.js";
import { total } from "./tensor.js";

/** The heads of the run in view, ranked as the server computes one attention after another; the strongest is chosen. @param {App} app @param {(edits: Edit[], status: HTMLElement) => void} add @returns {HTMLElement} */
export function ranking(app, add) {
	const { run } = app.state;
	/** @type {{effect: number, box: HTMLInputElement, edit: Edit, name: string}[]} */
	const found = [];
	// The nearest to the output matters most.
	const parts = attentions(app.doc).reverse();
	const count = total(parts.map((part) => app.doc.tensors[`${part.path}.weights`]?.shape[0] ?? 0));
	const state = element("p", { class: "note", id: "ranking-state", role: "status" });
	const rows = element("div", { id: "ranking" });
	const off = button({ id: "do-heads-off", class: "primary", disabled: true }, "turn off");
	const chosen = () => found.filter((each) => each.box.checked).map((each) => each.edit);
	const tell = () => {
		const { length } = chosen();
		off.disabled = length === 0;
		off.textContent = length > 1 ? `turn ${length} heads off` : "turn this head off";
	};
	off.addEventListener("click", () => add(chosen(), state));
	const draw = () => {
		found.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
		const most = Math.abs(found[0]?.effect ?? 1) || 1;
		const lines = found.map(({ effect, box, name }) => tableRow({}, element("label", {}, box, " ", name), ...barCells(effect / most, effect, signed(effect))));
		// Room for all: no button below moves under a hand.
		while (lines.length < count) lines.push(tableRow({}, "…"));
		rows.replaceChildren(table(["head", "", app.isReader ? "change of the cosine" : "change of the log-probability"], lines, "near"));
	};
	const compute = async () => {
		draw();
		for (const [i, part] of parts.entries()) {
			state.textContent = `computing … ${i + 1} of ${parts.length}`;
			const effects = await app.data.effects(run, part.path);
			effects.forEach((each, head) => {
				const name = `${titleOf(part)}, head ${head + 1}`;
				const box = element("input", { type: "checkbox", "aria-label": name, onchange: tell });
				found.push({ effect: total(each), box, edit: { kind: "head-off", attention: part.path, head }, name });
			});
			draw();
		}
		state.textContent = `${found.length > 1 ? `All ${found.length} heads, each` : "Its one head,"} switched off alone; the text stays what it is.`;
		if (found[0] && !chosen().length) found[0].box.checked = true;
		tell();
	};
	compute().catch((error) => state.replaceChildren(trouble(error)));
	const about = app.isReader
		? "Below 0 the sentence vector turns away from what it was."
		: "Below 0 the model finds its own output less probable without the head: the head helps. Above 0 it would do better without. Choose several to see what they do together.";
	return card("Which heads matter", p("", about), state, rows, div("inline-form", off));
}
