/** The paper's Figure 1, drawn for the loaded model and always in sight: each box opens what it computes. */

import { button, caption, choice, div, drawing, element, marks, p, pressable, span } from "./dom.js";
import { percent, textOf } from "./numbers.js";
import { numLayers, parsePath, subLayers } from "./structure.js";

const BOX_WIDTH = 104;

/** Whether the norms are drawn before the sub-layers: where they are, unless the reader wants the paper's figure. @param {App} app */
function isPre(app) {
	return app.config.norm_placement === "pre" && app.state.figure !== "paper";
}

/** @param {App} app @param {string} stack whether a last norm follows its layers in the figure */
const hasFinal = (app, stack) => isPre(app) && app.has(`${stack}.final_norm`);

/** Where the stacks stand: side by side, or one alone in the middle. @param {App} app */
export function columns(app) {
	const both = numLayers(app.doc, "encoder") > 0 && numLayers(app.doc, "decoder") > 0;
	const lift = hasFinal(app, "decoder") || (!both && hasFinal(app, "encoder")) ? 34 : 0;
	return both ? { encoder: 84, decoder: 226, top: -lift } : { encoder: 155, decoder: 155, top: 92 - lift };
}

/** The top of the frame around a stack's layers. @param {App} app @param {string} stack */
function frameTop(app, stack) {
	const crosses = stack === "decoder" && numLayers(app.doc, "encoder") > 0;
	return (crosses ? 160 : 252) - (isPre(app) ? 12 : 0);
}

/** Boxes of a stack: sub-layer, text, top when there is a cross-attention below it, and when there is none. */
const STACK = /** @type {const} */ ([
	["self_attention", "Multi-Head|Attention", 356, 356],
	["cross_attention", "Multi-Head|Attention", 262, 262],
	["feed_forward", "Feed|Forward", 170, 262],
]);

/** Where the memory leaves the encoder. @param {App} app */
export const memoryHeight = (app) => (hasFinal(app, "encoder") ? frameTop(app, "encoder") - 30 : 244) - 14;

/** @param {App} app @returns {Box[]} */
export function boxesOf(app) {
	/** @type {Box[]} */
	const boxes = [];
	const parts = subLayers(app.doc);
	const places = columns(app);
	const pre = isPre(app);
	for (const [stack, side] of /** @type {const} */ ([
		["encoder", "source"],
		["decoder", "target"],
	])) {
		const x = places[stack];
		/** @param {string} id @param {string} text @param {string} tint @param {number} y @param {number} height @param {Box["opens"]} opens */
		const add = (id, text, tint, y, height, opens) => boxes.push({ id, text, tint, x, y, height, opens });
		const word = side === "source" ? "Input" : "Output";
		if (app.has(`${side}.embedding`))
			add(`${side}.embedding`, `${word}|Embedding`, "embedding", 472, 36, () => ({ view: "embeddings", focus: side }));
		if (app.has(`${side}.position`)) add(`${side}.position`, "+ position", "position", 440, 22, () => ({ view: "positions", focus: side }));
		const kinds = new Set(parts.filter((part) => part.stack === stack).map((part) => part.kind));
		for (const [kind, text, high, low] of STACK) {
			if (!kinds.has(kind)) continue;
			const y = (kinds.has("cross_attention") ? high : low) - (pre ? 12 : 0);
			const isFeed = kind === "feed_forward";
			/** @param {string} focus @returns {Box["opens"]} */
			const opens = (focus) => () => ({
				view: isFeed ? "feed-forward" : "attention",
				attention: `${stack}.layers.${app.layerOf(stack)}.${kind}`,
				focus,
			});
			const isMasked = stack === "decoder" && kind === "self_attention";
			if (app.has(`${stack}.layers.0.${kind}.residual`)) {
				add(`${stack}.norm.${kind}`, pre ? "Add" : "Add & Norm", "norm", y, pre ? 16 : 20, opens(pre ? "residual" : "add-norm"));
				if (pre) add(`${stack}.before.${kind}`, "Norm", "norm", y + 58, 16, opens("norm"));
			}
			add(
				`${stack}.${kind}`,
				isMasked ? "Masked Multi-|Head Attention" : text,
				isFeed ? "feed" : "attention",
				y + (pre ? 19 : 23),
				36,
				opens(isFeed ? "hidden" : "query"),
			);
		}
		if (hasFinal(app, stack))
			add(`${stack}.final`, "Norm", "norm", frameTop(app, stack) - 30, 18, () => ({ view: "overview", focus: `${stack}.final_norm` }));
		if (app.isReader && !hasOutput(app) && stack === "encoder")
			add("vector", "Mean", "softmax", 112 + places.top, 22, () => ({ view: "vector", focus: "" }));
		if (hasOutput(app) && stack === (app.doc.target ? "decoder" : "encoder")) {
			add("linear", "Linear", "linear", 112 + places.top, 22, () => ({ view: "output", focus: "linear" }));
			add("softmax", "Softmax", "softmax", 78 + places.top, 22, () => ({ view: "output", focus: "softmax" }));
		}
	}
	return boxes;
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
	if (view === "positions") return `${app.inFocus("position")}.position`;
	if (view === "output") return focus === "linear" ? "linear" : "softmax";
	if (!part) return "";
	if (view === "feed-forward" || view === "attention") {
		const isAdd = focus === "residual" || focus === "add-norm" || (focus === "norm" && !isPre(app));
		return `${part.stack}.${isAdd ? "norm." : focus === "norm" ? "before." : ""}${view === "attention" ? part.kind : "feed_forward"}`;
	}
	return view === "attention-lines" || view === "heads" ? `${part.stack}.${part.kind}` : "";
}

/** @param {App} app */
export function figureOne(app) {
	const boxes = boxesOf(app);
	const { top } = columns(app);
	const isPaper = app.state.figure === "paper";
	const differs = app.config.norm_placement === "pre";
	const picture = drawing("svg", {
		class: "figure-one",
		viewBox: `0 ${top} 310 ${548 - top}`,
		role: "group",
		"aria-label": "Map of the model, Figure 1 of the paper",
	});
	picture.append(...stackFrames(app), ...arrows(app), ...boxes.map((box) => drawBox(app, box)), ...ends(app));
	return div(
		"map",
		miniature(app, boxes),
		element(
			"details",
			{ class: "whole", open: matchMedia("(min-width: 861px)").matches },
			element("summary", {}, "the whole figure"),
			differs &&
				choice("", [["model", "this model"], ["paper", "the paper's figure"]], isPaper ? "paper" : "model", (figure) => app.go({ figure })),
			differs && isPaper && p("note", "The paper normalises each sum. This model normalises what enters each sub-layer, and once more at the end."),
			picture,
		),
	);
}

/** The same boxes in one line, for a narrow window. @param {App} app @param {Box[]} boxes */
function miniature(app, boxes) {
	const inOrder = boxes.filter((box) => box.tint !== "norm");
	const here = boxInView(app).replace(/\.(norm|before)\./, ".");
	const names = /** @type {Record<string, string>} */ ({
		embedding: "embed",
		position: "+ position",
		attention: "attention",
		feed: "feed-fwd",
		linear: "linear",
		softmax: "softmax",
	});
	return element(
		"div",
		{ class: "miniature", role: "group", "aria-label": "Map of the model in one line" },
		...inOrder.flatMap((box, i) => {
			const isCross = box.id.endsWith("cross_attention");
			const label = isCross ? "cross" : box.id === "decoder.self_attention" ? "masked" : box.id === "vector" ? "mean" : (names[box.tint] ?? "");
			const before = inOrder[i - 1];
			const mini = button(
				{
					class: `mini ${box.tint}`,
					id: `mini-${box.id}`,
					"aria-current": here === box.id ? "true" : null,
					"aria-label": box.id,
					onclick: () => app.go(box.opens(app)),
				},
				label,
			);
			return before && before.x !== box.x ? [span("note", "→"), mini] : [mini];
		}),
	);
}

/** @param {App} app @param {Box} box */
function drawBox(app, box) {
	const lines = box.text.split("|");
	const isHere = boxInView(app) === box.id;
	return drawing(
		"g",
		{
			class: `box ${box.tint} ${isHere ? "here" : ""}`,
			id: `box-${box.id}`,
			"aria-label": `${box.id.split(".")[0]}: ${lines.join(" ")}`,
			"aria-current": isHere ? "true" : null,
			...pressable(() => app.go(box.opens(app))),
		},
		drawing("rect", { x: box.x - BOX_WIDTH / 2, y: box.y, width: BOX_WIDTH, height: box.height, rx: 5 }),
		...lines.map((line, i) => caption("", box.x, box.y + box.height / 2 + 4 + (i - (lines.length - 1) / 2) * 13, line)),
	);
}

/** The grey frames with N× and a button for each layer. @param {App} app */
function stackFrames(app) {
	const parts = [];
	for (const stack of /** @type {const} */ (["encoder", "decoder"])) {
		const layers = numLayers(app.doc, stack);
		if (!layers) continue;
		const isLeft = stack === "encoder";
		const x = columns(app)[stack];
		const y = frameTop(app, stack);
		parts.push(drawing("rect", { class: "stack", x: x - BOX_WIDTH / 2 - 8, y, width: BOX_WIDTH + 16, height: 424 - y, rx: 10 }));
		const labelX = x + (isLeft ? -72 : 73);
		parts.push(caption("times", labelX, 440, `${layers}×`));
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
						id: `layer-${stack}-${layer}`,
						"aria-label": `${stack} layer ${layer + 1}`,
						"aria-pressed": isHere ? "true" : "false",
						...pressable(choose),
					},
					drawing("circle", { cx: labelX, cy: 412 - layer * step, r: Math.min(9, step / 2 - 1) }),
					caption("", labelX, 415.5 - layer * step, layer + 1),
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
	const hasEncoder = numLayers(app.doc, "encoder") > 0;
	const hasDecoder = numLayers(app.doc, "decoder") > 0;
	/** @param {string} d */
	const line = (d) => drawing("path", { class: "wire", d });
	const memory = memoryHeight(app);
	const end = top + 66;
	if (hasEncoder) parts.push(line(`M${encoder} 520V${hasDecoder ? memory : end}`));
	if (hasDecoder) parts.push(line(`M${decoder} 520V${top + 66}`));
	const boxes = boxesOf(app);
	const cross = boxes.find((box) => box.id === "decoder.cross_attention");
	if (cross && hasEncoder)
		parts.push(line(`M${encoder} ${memory}H154V${cross.y + 18}H${decoder - BOX_WIDTH / 2}`), caption("axis", 119, memory - 5, "memory"));
	// Around each sub-layer runs what it is added to.
	const pre = isPre(app);
	for (const box of boxes) {
		if ((box.tint !== "attention" && box.tint !== "feed") || !boxes.some((each) => each.id === box.id.replace(".", ".norm."))) continue;
		const side = box.id.startsWith("encoder") ? -1 : 1;
		const [edge, out] = [box.x + (side * BOX_WIDTH) / 2, box.x + side * (BOX_WIDTH / 2 + 5)];
		const below = box.y + box.height + (pre ? 26 : 9);
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
