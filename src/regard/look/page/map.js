/** The paper's Figure 1, drawn for the loaded model and always in sight: each box opens what it computes. */

import { differences } from "./differences.js";
import { button, caption, choice, div, drawing, element, marks, p, pressable, span } from "./dom.js";
import { percent, show, textOf } from "./numbers.js";
import { isRecurrent, numLayers, parsePath, subLayers } from "./structure.js";
import { total } from "./tensor.js";

const BOX_WIDTH = 104;

/** Whether the paper's figure is drawn, not the model as it is. @param {App} app */
const isPaper = (app) => app.state.figure === "paper" && differences(app.config).length > 0;

/** Boxes of a stack: sub-layer, top when there is a cross-attention below it, and when there is none. */
const STACK = /** @type {const} */ ([
	["self_attention", 356, 356],
	["cross_attention", 262, 262],
	["feed_forward", 170, 262],
]);

/** The same with another run or view, and its own figure. @param {App} app @param {Partial<State>} change @returns {App} */
export const seenAs = (app, change) => Object.create(app, { state: { value: { ...app.state, ...change, figure: "model" } }, go: { value: (/** @type {Partial<State>} */ to) => app.go({ ...change, ...to }) } });

/** Whether the norms are drawn before the sub-layers. @param {App} app */
const isPre = (app) => !isPaper(app) && app.config.norm_placement === "pre";

/** @param {App} app @param {string} stack */
const hasStack = (app, stack) => isPaper(app) || isRecurrent(app.doc) || numLayers(app.doc, stack) > 0;

/** @param {App} app @param {string} stack whether a last norm follows its layers in the figure */
const hasFinal = (app, stack) => isPre(app) && app.has(`${stack}.final_norm`);

/** What is done to queries and keys by their position, in a box below self-attention. @param {App} app */
function turned(app) {
	const rotate = app.config.query_key_norm ? "norm, rotate q, k" : "rotate q, k";
	const near = "+ bias by distance";
	return isPaper(app) ? "" : ({ rotary: rotate, relative: near, alibi: near }[app.config.position] ?? "");
}

/** What a sub-layer's box says in small letters: what is not the paper's. @param {App} app @param {string} kind */
function ownWay(app, kind) {
	const { feed_forward: feed, num_heads: heads, queries_per_key: shared = 1, window: seen } = app.config;
	if (isPaper(app)) return "";
	if (kind === "feed_forward") return feed.replace(/^relu$/, "").replace("gated-", "gate: ");
	return shared > 1 ? `${heads} heads, ${heads / shared} of keys` : seen ? `the last ${seen}` : "";
}

/** How much higher a sub-layer is than the paper's. @param {App} app @param {string} kind */
const more = (app, kind) =>
	(ownWay(app, kind) ? 12 : 0) + (kind === "self_attention" && turned(app) ? 16 : 0);

/** @param {App} app @param {string} stack @returns {string[]} its sub-layers from the bottom up */
function kindsOf(app, stack) {
	const known = new Set(subLayers(app.doc).filter((part) => part.stack === stack).map((part) => part.kind));
	return STACK.map(([kind]) => kind).filter((kind) => (isPaper(app) ? stack === "decoder" || kind !== "cross_attention" : known.has(kind)));
}

/** How much higher a stack is than the paper's. @param {App} app @param {string} stack */
const growth = (app, stack) => total(kindsOf(app, stack).map((kind) => more(app, kind)));

/** Where the stacks stand: side by side, or one alone in the middle. @param {App} app */
export function columns(app) {
	const both = hasStack(app, "encoder") && hasStack(app, "decoder");
	const upper = hasStack(app, "decoder") ? "decoder" : "encoder";
	const lift = growth(app, upper) + (hasFinal(app, "decoder") || (!both && hasFinal(app, "encoder")) ? 34 : 0);
	return both ? { encoder: 84, decoder: 226, top: -lift } : { encoder: 155, decoder: 155, top: 92 - lift };
}

/** The top of the frame around a stack's layers. @param {App} app @param {string} stack */
function frameTop(app, stack) {
	const crosses = stack === "decoder" && hasStack(app, "encoder");
	return (crosses ? 160 : 252) - (isPre(app) ? 12 : 0) - growth(app, stack);
}

/** Where the memory leaves the encoder. @param {App} app */
export const memoryHeight = (app) => (hasFinal(app, "encoder") ? frameTop(app, "encoder") - 30 : 244) - 14;

/** The boxes of the figure that is drawn: the model's, or the paper's. @param {App} app @returns {Box[]} */
export function boxesOf(app) {
	const paper = isPaper(app);
	/** @type {Box[]} */
	const boxes = [];
	const places = columns(app);
	const pre = isPre(app);
	const norm = paper ? "Norm" : ({ rms: "RMSNorm", batch: "BatchNorm" }[app.config.norm] ?? "Norm");
	const heads = paper || (app.config.queries_per_key ?? 1) === 1 ? "Multi-|Head" : "Grouped-|Query";
	for (const [stack, side] of /** @type {const} */ ([
		["encoder", "source"],
		["decoder", "target"],
	])) {
		const x = places[stack];
		/** @param {string} id @param {string} text @param {string} tint @param {number} y @param {number} height @param {Box["opens"]} opens */
		const add = (id, text, tint, y, height, opens) => boxes.push({ id, text, tint, x, y, height, opens });
		const word = side === "source" ? "Input" : "Output";
		/** @returns {Partial<State>} */
		const positions = () => ({ view: "positions", focus: side });
		if (paper || app.has(`${side}.embedding`))
			add(`${side}.embedding`, `${word}|Embedding`, "embedding", 472, 36, () => ({ view: "embeddings", focus: side }));
		if (isRecurrent(app.doc)) {
			const cells = app.config.architecture.toUpperCase() + (side === "source" ? "|both directions" : "");
			add(`${stack}.cells`, cells, "feed", side === "source" ? 285 : 193, 36, () => ({ view: "overview", focus: side === "source" ? "memory" : "" }));
		}
		if (paper || app.has(`${side}.position`)) add(`${side}.position`, "+ position", "position", 440, 22, positions);
		const kinds = kindsOf(app, stack);
		let grown = 0;
		for (const [kind, high, low] of STACK) {
			if (!kinds.includes(kind)) continue;
			grown += more(app, kind);
			const y = (kinds.includes("cross_attention") ? high : low) - (pre ? 12 : 0) - grown;
			const isFeed = kind === "feed_forward";
			/** @param {string} focus @returns {Box["opens"]} */
			const opens = (focus) => () => ({
				view: isFeed ? "feed-forward" : "attention",
				attention: isRecurrent(app.doc) ? "decoder.attention" : `${stack}.layers.${app.layerOf(stack)}.${kind}`,
				focus,
			});
			const own = ownWay(app, kind);
			const height = own ? 48 : 36;
			const below = y + (pre ? 19 : 23);
			const isSelf = kind === "self_attention";
			if (paper || app.has(`${stack}.layers.0.${kind}.residual`)) {
				add(`${stack}.norm.${kind}`, pre ? "Add" : `Add & ${norm}`, "norm", y, pre ? 16 : 20, opens(pre ? "residual" : "add-norm"));
				if (pre) add(`${stack}.before.${kind}`, norm, "norm", below + more(app, kind) + 39, 16, opens("norm"));
			}
			if (isSelf && turned(app)) add(`${stack}.rotation`, turned(app), "position", below + height + 2, 14, positions);
			const name = isRecurrent(app.doc) ? `${app.config.attention.replace(/^./, (first) => first.toUpperCase())}|Attention` : isFeed ? "Feed|Forward" : `${isSelf && stack === "decoder" ? "Masked " : ""}${heads} Attention`;
			add(`${stack}.${kind}`, own ? `${name}|${own}` : name, isFeed ? "feed" : "attention", below, height, opens(isFeed ? "hidden" : "query"));
		}
		if (hasFinal(app, stack))
			add(`${stack}.final`, norm, "norm", frameTop(app, stack) - 30, 18, () => ({ view: "overview", focus: `${stack}.final_norm` }));
		if (!paper && app.isReader && !hasOutput(app) && stack === "encoder")
			add("vector", "Pooling", "softmax", 112 + places.top, 22, () => ({ view: "vector", focus: "" }));
		if ((paper || hasOutput(app)) && stack === (paper || app.doc.target ? "decoder" : "encoder")) {
			add("linear", "Linear", "linear", 112 + places.top, 22, () => ({ view: "output", focus: "linear" }));
			add("softmax", "Softmax", "softmax", 78 + places.top, 22, () => ({ view: "output", focus: "softmax" }));
		}
	}
	const differing = new Set(differences(app.config).map(([tint]) => tint));
	const own = paper && new Set(boxesOf(seenAs(app, {})).map((box) => box.id));
	return boxes.map((box) => ({ ...box, differs: differing.has(box.tint) && box.text !== "Add", isAbsent: own && !own.has(box.id) }));
}

/** Whether the model's vocabulary is asked: a search compares vectors alone. @param {App} app */
export const hasOutput = (app) => app.doc.output.length > 0 && app.doc.model.task !== "search";

/** The box that the page stands at. @param {App} app */
function boxInView(app) {
	const { view, focus, attention } = app.state;
	const part = parsePath(attention);
	if (view === "overview") return focus.endsWith(".final_norm") ? focus.replace("_norm", "") : "";
	if (view === "embeddings") return `${app.inFocus("embedding")}.embedding`;
	if (view === "vector") return view;
	if (view === "positions") {
		const side = app.inFocus("position");
		return app.has(`${side}.position`) ? `${side}.position` : `${app.doc.target ? "decoder" : "encoder"}.rotation`;
	}
	if (view === "output") return focus === "linear" ? "linear" : "softmax";
	if (!part) return "";
	if (view === "feed-forward" || view === "attention") {
		const isAdd = focus === "residual" || focus === "add-norm" || (focus === "norm" && !isPre(app));
		return `${part.stack}.${isAdd ? "norm." : focus === "norm" ? "before." : ""}${view === "attention" ? part.kind : "feed_forward"}`;
	}
	return view === "attention-lines" || view === "heads" ? `${part.stack}.${part.kind}` : "";
}

const wide = matchMedia("(min-width: 861px)");
wide.addEventListener("change", () => {
	for (const each of document.querySelectorAll("details")) if (each.classList.contains("whole")) each.open = wide.matches;
});

/** @param {App} app */
export function figureOne(app) {
	const differing = differences(app.config);
	const paper = isPaper(app);
	return div(
		"map",
		miniature(app, boxesOf(seenAs(app, {}))),
		element(
			"details",
			{ class: "whole", open: wide.matches },
			element("summary", {}, "the whole figure"),
			...(differing.length
				? [
						choice("", [["model", "this model"], ["paper", "the paper's figure"]], paper ? "paper" : "model", (figure) => app.go({ figure })),
						paper && p("note", "Pale boxes are not in this model."),
						element("details", {}, element("summary", {}, `${differing.length === 1 ? "One difference" : `${differing.length} differences`} (≠) from the paper's`), element("ul", {}, ...differing.map(([, text]) => element("li", {}, text)))),
					]
				: []),
			picture(app),
		),
	);
}

/** The figure alone. @param {App} app @param {string} [prefix] of its ids, where it is not the page's map */
export function picture(app, prefix = "") {
	const { top } = columns(app);
	const drawn = drawing("svg", {
		class: "figure-one",
		viewBox: `0 ${top} 310 ${548 - top}`,
		role: "group",
		"aria-label": "Map of the model, Figure 1 of the paper",
	});
	drawn.append(...stackFrames(app, prefix), ...arrows(app), ...boxesOf(app).map((box) => drawBox(app, box, prefix)), ...ends(app));
	return drawn;
}

/** The same boxes in one line, for a narrow window. @param {App} app @param {Box[]} boxes */
function miniature(app, boxes) {
	const inOrder = boxes.filter((box) => box.tint !== "norm");
	const here = boxInView(app).replace(/\.(norm|before)\./, ".");
	const names = /** @type {Record<string, string>} */ ({ embedding: "embed", position: "+ position", feed: "feed-fwd" });
	return element(
		"div",
		{ class: "miniature", role: "group", "aria-label": "Map of the model in one line" },
		...inOrder.flatMap((box, i) => {
			const isCross = box.id.endsWith("cross_attention");
			const label = box.id.endsWith("cells") ? app.config.architecture : isCross ? "cross" : box.id.endsWith("rotation") ? box.text : box.id === "decoder.self_attention" ? "masked" : box.id === "vector" ? box.text.toLowerCase() : (names[box.tint] ?? box.tint);
			const before = inOrder[i - 1];
			const isHere = here === box.id ? "true" : null;
			const shown = { class: `mini ${box.tint}`, id: `mini-${box.id}`, "aria-current": isHere, "aria-label": box.id };
			const mini = button({ ...shown, onclick: () => app.go(box.opens(app)) }, label);
			return before && before.x !== box.x ? [span("note", "→"), mini] : [mini];
		}),
	);
}

/** @param {App} app @param {Box} box @param {string} prefix */
function drawBox(app, box, prefix) {
	const lines = box.text.split("|");
	const isHere = !prefix && boxInView(app) === box.id;
	const way = box.isAbsent ? " (not in this model)" : box.differs ? " (differs from the paper)" : "";
	const norm = drawNorm(app, box);
	const press = box.isAbsent ? {} : pressable(() => app.go(box.opens(app)));
	const kind = `box ${box.tint} ${isHere ? "here" : ""} ${box.differs ? "differs" : ""} ${box.isAbsent ? "absent" : ""}`;
	const label = `${box.id.split(".")[0]}: ${lines.join(" ")}${way}`;
	return drawing(
		"g",
		{ class: kind, id: `${prefix}box-${box.id}`, "aria-label": label, "aria-current": isHere ? "true" : null, ...press },
		drawing("rect", { x: box.x - BOX_WIDTH / 2, y: box.y, width: BOX_WIDTH, height: box.height, rx: 5 }),
		...lines.map((line, i) => caption(i > 1 ? "axis" : "", norm && lines.length === 1 ? box.x - 12 : box.x, box.y + box.height / 2 + 4 + (i - (lines.length - 1) / 2) * 13, line)),
		norm,
		box.differs && caption("unlike", box.x + (/^(enc|so)/.test(box.id) ? 57 : -57), box.y + box.height / 2 + 4, "≠"),
	);
}

/** Of a training step: the norm of the gradient at a box. @param {App} app @param {Box} box */
function drawNorm(app, box) {
	const norms = app.doc.training?.norms;
	if (!norms || box.isAbsent) return null;
	const [stack = "", kind = "", inner = ""] = box.id.split(".");
	const layer = stack === "encoder" || stack === "decoder" ? `${stack}.layers.${app.layerOf(stack)}` : "";
	const last = kind === "norm" ? (app.config.norm_placement === "pre" ? "residual" : "norm") : kind === "before" ? "norm" : "output";
	const name = box.id === "encoder.cells" ? "memory" : layer ? (kind === "final" ? `${stack}.final_norm` : `${layer}.${inner || kind}.${last}`) : box.id === "linear" ? "logits" : box.id;
	const norm = norms[name];
	if (norm === undefined) return null;
	return caption("gradient", box.x + BOX_WIDTH / 2 - 3, box.y + (box.text.includes("|") ? 6.5 : 9), show(norm, 3), "end", { ...marks(norm, { name, index: [] }), "data-role": "gradient-norm" });
}

/** The grey frames with N× and a button for each layer. @param {App} app @param {string} prefix */
function stackFrames(app, prefix) {
	const parts = [];
	for (const stack of /** @type {const} */ (["encoder", "decoder"])) {
		const layers = isRecurrent(app.doc) ? 0 : numLayers(app.doc, stack);
		if (!hasStack(app, stack)) continue;
		const isLeft = stack === "encoder";
		const x = columns(app)[stack];
		const y = frameTop(app, stack);
		parts.push(drawing("rect", { class: "stack", x: x - BOX_WIDTH / 2 - 8, y, width: BOX_WIDTH + 16, height: 424 - y, rx: 10 }));
		const labelX = x + (isLeft ? -72 : 73);
		parts.push(caption("times", labelX, 440, `${isPaper(app) ? "N" : layers || app.config[`num_${stack}_layers`]}×`));
		const step = Math.min(22, 320 / layers);
		for (let layer = 0; layer < layers; layer++) {
			const isHere = app.layerOf(stack) === layer;
			const choose = () => {
				const part = parsePath(app.state.attention);
				const kind = part?.stack === stack ? part.kind : "self_attention";
				const staysOpen = ["attention", "feed-forward", "attention-lines", "heads"].includes(app.state.view);
				const view = kind === "feed_forward" ? "feed-forward" : "attention";
				app.go({ attention: `${stack}.layers.${layer}.${kind}`, view: staysOpen ? app.state.view : view });
			};
			parts.push(
				drawing(
					"g",
					{
						class: `layer-dot ${isHere ? "here" : ""}`,
						id: `${prefix}layer-${stack}-${layer}`,
						"aria-label": `${stack} layer ${layer + 1}`,
						"aria-pressed": isHere ? "true" : "false",
						...pressable(choose),
					},
					drawing("circle", { cx: labelX, cy: 412 - layer * step, r: isHere ? 9 : Math.min(9, step / 2 - 1) }),
					// Many small dots have a number at every fifth.
					(step > 14 || isHere || layer % 5 === 4) && caption("", labelX, 415.5 - layer * step, layer + 1),
				),
			);
		}
	}
	return parts;
}

/** @param {App} app */
function arrows(app) {
	const parts = [];
	const { encoder, decoder, top } = columns(app);
	const hasEncoder = hasStack(app, "encoder");
	const hasDecoder = hasStack(app, "decoder");
	/** @param {string} d */
	const line = (d) => drawing("path", { class: "wire", d });
	const memory = memoryHeight(app);
	const end = top + 66;
	if (hasEncoder) parts.push(line(`M${encoder} 520V${hasDecoder ? memory : end}`));
	if (hasDecoder) parts.push(line(`M${decoder} 520V${top + 66}`));
	const boxes = boxesOf(app);
	const cross = boxes.find((box) => box.id === "decoder.cross_attention") ?? boxes.find((box) => box.id === "decoder.cells");
	if (cross && hasEncoder)
		parts.push(line(`M${encoder} ${memory}H154V${cross.y + 18}H${decoder - BOX_WIDTH / 2}`), caption("axis", 119, memory - 5, "memory"));
	// Around each sub-layer runs what it is added to.
	const pre = isPre(app);
	for (const box of boxes) {
		if ((box.tint !== "attention" && box.tint !== "feed") || !boxes.some((each) => each.id === box.id.replace(".", ".norm."))) continue;
		const side = box.id.startsWith("encoder") ? -1 : 1;
		const [edge, out] = [box.x + (side * BOX_WIDTH) / 2, box.x + side * (BOX_WIDTH / 2 + 5)];
		const strip = boxes.some((each) => each.id === box.id.replace("self_attention", "rotation")) ? 16 : 0;
		const below = box.y + box.height + strip + (pre ? 26 : 9);
		parts.push(line(`M${box.x} ${below}H${out}V${box.y - (pre ? 11 : 13)}H${edge}`));
	}
	return parts;
}

/** What goes in and what comes out. @param {App} app */
function ends(app) {
	const { doc, state } = app;
	const places = columns(app);
	const parts = [];
	if (doc.source && !(doc.target && places.encoder === places.decoder)) {
		const { text } = doc.source;
		parts.push(caption("end", places.encoder, 534, text.length > 20 ? `${text.slice(0, 19)}…` : text));
	}
	if (doc.target) {
		const read = textOf(doc.target.token_strings.slice(0, state.step + 1));
		parts.push(caption("end", places.decoder, 534, read.length > 20 ? `…${read.slice(-19)}` : read));
	}
	const written = doc.output[app.here];
	if (app.isReader && !hasOutput(app)) parts.push(caption("end", places.encoder, places.top + 58, "one vector for the sentence"));
	else if (written) {
		const x = places[doc.target ? "decoder" : "encoder"];
		const place = { name: "output", index: [state.step] };
		parts.push(
			caption("written", x, places.top + 34, textOf([written.token_string]) || "␣"),
			caption("axis", x, places.top + 54, percent(written.probability), "middle", marks(written.probability, place)),
		);
	}
	return parts;
}
