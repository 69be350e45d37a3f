/** A training step taken apart, by the server: the loss of each position, every gradient, every updated weight. */

import { element, field, form, marks, p, table, tableRow } from "./dom.js";
import { count, percent, readable, show, tokenLabels } from "./numbers.js";
import { asking, band, card } from "./parts.js";
import { parsePath, sideOf, sidesOf } from "./structure.js";
import { range } from "./tensor.js";

/** @param {App} app @param {Probe[]} probes */
export function stepCard(app, probes) {
	if ((app.doc.model.step ?? null) === null) return card("One training step", p("", "Move the slider to a snapshot to take its next step apart."));
	const input = field("reference", "the right answer");
	input.value = app.doc.target?.text ?? "";
	const probe = probes.find((each) => each.source === app.doc.title);
	if (probe && !app.doc.training) input.value = probe.reference;
	const answer = element("span", { class: "note", role: "status" });
	const asks = asking(answer);
	const submit = () => asks(() => app.data.learning(app.state.run, app.doc.model.step ?? null, input.value), ({ run }) => app.go({ run, place: null }));
	return card(
		"One training step",
		p("", "The decoder reads the right answer, one place late, and is asked for the next token at each position."),
		form("inline-form", submit, element("label", { for: "reference" }, "The right answer "), input, element("button", { type: "submit", id: "take-step" }, "take the step apart"), answer),
	);
}

/** @param {App} app @param {Taken} step */
export async function taken(app, step) {
	const eps = step.smoothing;
	const rows = step.positions.map((each, i) =>
		tableRow(
			{},
			`${readable(each.read)} → ${readable(each.correct)}`,
			element("td", marks(each.probability, { name: "probabilities", index: [i, each.token] }), percent(each.probability)),
			element("td", { "data-role": "after", "data-value": each.after }, percent(each.after)),
			element("td", { "data-role": "loss", "data-value": each.loss }, `${show(1 - eps, 2)} × ${show(-each.log, 3)} + ${show(eps, 2)} × ${show(-each.mean, 3)} = ${show(each.loss, 3)}`),
		),
	);
	const losses = table(["read → right", "its probability", "after the step", `loss = (1 − ε) × −log p + ε × mean of −log p of all ${count(step.vocabulary)}`], rows);
	const about = `Loss of the step: the mean, ${show(step.loss, 4)}. Norm of all gradients: ${show(step.norm, 4)}${step.clipping < 1 ? `, clipped to ${show(step.clip, 2)}` : ""}. Rate ${show(step.rate, 6)}.`;
	const moments = step.has_moments ? "" : " The snapshot has no moments of Adam: they begin at 0.";
	return [card("Loss", losses, p("", `${about}${moments} The weights are the snapshot's. Dropout is off.`)), await gradients(app, step)];
}

let chosen = "";

/** @param {App} app @param {Taken} step */
async function gradients(app, step) {
	const values = Object.keys(step.norms).filter((name) => !name.startsWith("param:") && (app.doc.tensors[name]?.shape.length ?? 0) > 1);
	const weights = Object.keys(step.norms).filter((name) => name.startsWith("param:"));
	const names = [...values, ...weights].map((name) => `grad:${name}`).concat(weights.map((name) => `after:${name.slice(6)}`));
	if (!names.includes(chosen)) chosen = names.find((name) => name.endsWith("cross_attention.weights")) ?? names[0] ?? "";
	const options = names.map((name) => {
		const norm = step.norms[name.replace("grad:", "")];
		const text = name.replace("grad:param:", "gradient of the weight ").replace("grad:", "gradient of ").replace("after:", "after the step: ");
		return element("option", { value: name, selected: name === chosen }, text, norm !== undefined && `, norm ${show(norm, 4)}`);
	});
	const select = element("select", { id: "gradient", "aria-label": "gradient" }, ...options);
	const shown = element("div");
	const asks = asking(shown);
	const draw = () => asks(() => heat(app, chosen), (drawn) => [drawn]);
	select.addEventListener("change", () => {
		chosen = select.value;
		draw();
	});
	await draw();
	return card("Backwards: the gradient of every value", p("note", "The figure shows the norm at each box. A cell opens as the chain rule, a weight “after the step” as its update."), select, shown);
}

/** @param {App} app @param {string} name */
async function heat(app, name) {
	const values = await app.tensor(name);
	const head = Math.min(app.state.head, (values.shape[0] ?? 1) - 1);
	const size = values.shape.length;
	const [rows = 1, columns = 1] = size === 1 ? [1, values.shape[0]] : values.shape.slice(-2);
	const inner = name.replace(/^grad:/, "");
	const part = parsePath(inner);
	const isSquare = part && /(scores|scaled|masked|weights)$/.test(inner) && size === 3;
	const labels = /:/.test(inner) ? range(rows).map(String) : tokenLabels(sideOf(app.doc, inner));
	return band(app, name, {
		head,
		title: name,
		note: size === 3 ? `head ${head + 1}` : `${rows} × ${columns}`,
		rows: labels,
		columns: isSquare ? tokenLabels(sidesOf(app.doc, part).columns) : columns,
		...(size === 1 && { value: (_, i) => values.at([i]), place: (_, i) => ({ name, index: [i] }) }),
		markedRow: undefined,
		rowHeight: rows > 32 ? 11 : 16,
	});
}
