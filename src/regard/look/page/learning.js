/** How a model was trained: a slider over its snapshots, and the curves of the run. */

import { caption, drawing, element, p, span, table, tableRow, twin } from "./dom.js";
import { count, percent, show } from "./numbers.js";
import { asking, card, lead } from "./parts.js";
import { attentions } from "./structure.js";
import { range, total } from "./tensor.js";

const POLL_MILLISECONDS = 2000;
const [WIDTH, HEIGHT] = [300, 90];

/** The slider; while the run goes on it follows. @param {App} app @param {HTMLElement} root */
export async function openLearning(app, root) {
	app.training = await app.data.training(null);
	if (!app.training) return;
	root.hidden = false;
	const slider = element("input", { type: "range", id: "snapshot", min: 0, "aria-label": "training step", list: "snapshots" });
	const told = element("output", { id: "snapshot-told", for: "snapshot" });
	const asks = asking(told);
	const draw = () => {
		root.style.top = `${document.getElementById("strips")?.offsetHeight ?? 0}px`;
		const stops = stopsOf(app);
		const here = place(app);
		slider.max = String(stops.length - 1);
		slider.value = String(here);
		const step = stops[here] ?? null;
		slider.setAttribute("aria-valuetext", nameOf(step));
		const line = near(app, step);
		const { wait = 0, warning = null } = app.training ?? {};
		const next = follows && wait ? `next in ${Math.ceil(wait)} s ` : "";
		told.replaceChildren(`${nameOf(step)}${line && step !== null ? `: loss ${show(line.loss ?? NaN, 3)}` : ""} `, span("note", next + (warning ?? "")));
	};
	let follows = !app.training.finished;
	slider.addEventListener("input", () => {
		follows = slider.value === slider.max;
		asks(() => at(app, stopsOf(app)[Number(slider.value)] ?? null), (run) => app.go({ run }));
	});
	root.replaceChildren(span("note", "trained for"), slider, told);
	app.store.listen(["run"], draw);
	draw();
	const poll = async () => {
		app.training = await app.data.training(app.training);
		const newest = stopsOf(app).at(-1) ?? null;
		const shown = app.doc.model.step ?? null; // null: another model
		if (follows && shown !== null && newest !== shown && !app.training?.wait) app.go({ run: await at(app, newest) });
		draw();
		document.getElementById("curves")?.replaceChildren(...curves(app));
	};
	const follow = () => {
		if (!app.training?.finished) setTimeout(() => poll().catch(() => {}).then(follow), POLL_MILLISECONDS);
	};
	follow();
}

/** The steps of the slider; null is the finished model. @param {App} app @returns {(number | null)[]} */
const stopsOf = (app) => [...(app.training?.steps ?? []), ...(app.training?.finished ? [null] : [])];

/** Where the run in view stands on the slider. @param {App} app */
const place = (app) => Math.max(0, stopsOf(app).indexOf(app.doc.model.step ?? null));

/** @param {number | null} step */
const nameOf = (step) => (step === null ? "the finished model" : step === 0 ? "step 0, random weights" : `step ${count(step)}`);

/** The run in view, at a step: its text, or its training step. @param {App} app @param {number | null} step */
async function at(app, step) {
	const reference = app.doc.training && step !== null ? app.doc.target?.text : undefined;
	return (await app.data.learning(app.state.run, step, reference)).run;
}

/** The measurement next to a step. @param {App} app @param {number | null} step */
function near(app, step) {
	const lines = app.training?.train ?? [];
	return step === null ? lines.at(-1) : lines.find((line) => line.step >= Math.max(1, step));
}

/** @param {App} app */
export async function learningView(app) {
	const { training } = app;
	if (!training) return [];
	const { step } = app.doc.model;
	const probes = await app.data.probes(app.state.run);
	// A saved page takes no step apart, and does without the module.
	const steps = app.data.engineName === "python" ? await import("./training_step.js") : null;
	return [
		lead("The slider under the two sentences goes back in the training; all views follow."),
		training.warning ? element("p", { class: "trouble" }, training.warning) : "",
		card(["The run", span("note", `dots: validation${training.smoothing ? ", without label smoothing" : ""}`)], element("div", { class: "columns", id: "curves" }, ...curves(app))),
		card(
			`Validation sentences: ${nameOf(step ?? null)}`,
			table(["sentence", "right", "written"], probes.map((each) => tableRow({}, each.source, each.reference, each.written)), "texts"),
		),
		await diagonals(app),
		steps ? steps.stepCard(app, probes) : "",
		...(steps && app.doc.training ? await steps.taken(app, app.doc.training) : []),
	];
}

/** @param {App} app */
const curves = (app) => [curve(app, "loss", "loss"), curve(app, "rate", "learning rate"), curve(app, "gradient", "norm of the gradient")];

/** A curve over the logarithm of the steps. @param {App} app @param {"loss" | "rate" | "gradient"} key @param {string} title */
function curve(app, key, title) {
	const { train = [], valid = [] } = app.training ?? {};
	const last = Math.max(1, ...train.map((line) => line.step));
	const known = train.filter((line) => line[key] !== null);
	const top = Math.max(1e-12, ...known.map((line) => line[key] ?? 0));
	/** @param {number} step */
	const x = (step) => 6 + ((WIDTH - 12) * Math.log(1 + step)) / Math.log(1 + last);
	/** @param {number} value */
	const y = (value) => HEIGHT - 4 - (HEIGHT - 12) * Math.min(1, value / top);
	const here = x(Math.min(last, app.doc.model.step ?? last));
	const at = near(app, app.doc.model.step ?? null);
	const picture = drawing(
		"svg",
		{ viewBox: `0 -12 ${WIDTH} ${HEIGHT + 24}`, class: "curve", role: "img", "aria-label": `${title} over the steps` },
		drawing("path", { class: "wire", d: `M${here} 0V${HEIGHT}` }),
		drawing("polyline", { class: "line", points: known.map((line) => `${x(line.step)},${y(line[key] ?? 0)}`).join(" ") }),
		...(key === "loss" ? valid.map((line) => drawing("circle", { cx: x(line.step), cy: y(line.loss ?? top), r: 2.5 })) : []),
		caption("axis", WIDTH - 4, -2, `at most ${show(top, 4)}`, "end"),
		caption("axis", 4, HEIGHT + 10, "step 0", "start"),
		caption("axis", WIDTH - 4, HEIGHT + 10, `step ${count(last)}`, "end"),
	);
	const value = at?.[key] ?? NaN;
	return element(
		"figure",
		{ "data-title": title },
		element("figcaption", {}, `${title}: `, element("b", { "data-value": value }, show(value))),
		picture,
		twin("numbers", ["step", title], () => known.map((line) => tableRow({}, line.step, show(line[key] ?? NaN, 5)))),
	);
}

/** How much of each head's attention lies on the two diagonals. @param {App} app */
async function diagonals(app) {
	const part = attentions(app.doc).filter((each) => each.kind === "cross_attention").at(-1);
	if (!part || !app.doc.source) return "";
	const weights = await app.tensor(`${part.path}.weights`);
	const [heads = 0, queries = 0, keys = 0] = weights.shape;
	// The ends of both sentences are no words.
	const most = Math.min(queries, keys) - 1;
	/** @param {number} head @param {(i: number) => number} key */
	const mean = (head, key) => total(range(most).map((i) => weights.at([head, i, key(i)]))) / Math.max(1, most);
	/** @param {number} head @param {string} name @param {number} value */
	const share = (head, name, value) => element("td", { "data-role": name, "data-index": head, "data-value": value }, percent(value));
	return card(
		"Mean cross-attention on the diagonals",
		p("note", `${part.path}: the word in the same place of the source, and the one in the mirrored place`),
		table(["head", "diagonal", "anti-diagonal"], range(heads).map((head) => tableRow({}, head + 1, share(head, "diagonal", mean(head, (i) => i)), share(head, "anti-diagonal", mean(head, (i) => keys - 2 - i))))),
	);
}
