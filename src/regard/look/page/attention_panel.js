/** One head step by step, from queries, keys and values to the norm. */

import { choice, div, element, p } from "./dom.js";
import { Cursor } from "./matrix.js";
import { show } from "./numbers.js";
import { band, card, codeLink, lead, normText, square } from "./parts.js";
import { attentions, parsePath, readBy, reasonHidden, sidesOf, squareName, streamInto, titleOf } from "./structure.js";
import { range } from "./tensor.js";

/** Which attention, as buttons: kind, layer, head. @param {App} app @param {string} [heads] one, those of a layer, or all */
export function attentionChoice(app, heads = "one") {
	const known = attentions(app.doc);
	const here = parsePath(app.state.attention);
	const kinds = [...new Set(known.map((part) => `${part.stack}.${part.kind}`))];
	const names = /** @type {Record<string, string>} */ ({
		"encoder.self_attention": "encoder self",
		"decoder.self_attention": "decoder masked self",
		"decoder.cross_attention": "cross",
	});
	const layers = known.filter((part) => part.stack === here?.stack && part.kind === here.kind);
	const numHeads = app.doc.tensors[`${app.state.attention}.weights`]?.shape[0] ?? 0;
	return div(
		"choices",
		choice(
			"attention",
			kinds.map((kind) => [kind, names[kind] ?? kind]),
			here ? `${here.stack}.${here.kind}` : "",
			(value) => {
				const options = known.filter((part) => `${part.stack}.${part.kind}` === value);
				const found = options.find((part) => part.layer === here?.layer) ?? options[0];
				if (found) app.go({ attention: found.path });
			},
		),
		heads === "all"
			? null
			: choice(
					"layer",
					layers.map((part) => [part.path, part.layer + 1]),
					app.state.attention,
					(value) => app.go({ attention: value }),
				),
		heads === "one" &&
			choice(
				"head",
				range(numHeads).map((each) => [each, each + 1]),
				String(app.state.head),
				(value) => app.go({ head: Number(value) }),
			),
	);
}

/** The steps of a sub-layer, one under the other. @param {App} app @param {SubLayer} part @param {HTMLElement[]} parts what comes first */
function steps(app, part, parts) {
	const { path } = part;
	/** @param {string} last @param {string} title @param {string} text @param {HTMLElement} content @param {string} [code] */
	const put = (last, title, text, content, code = last) => {
		const node = card([title, codeLink(app, code)], p("", text), content);
		node.id = `part-${last}`;
		parts.push(node);
		return node;
	};
	/** @param {string} last @param {string} title @param {string} text @param {Parameters<typeof band>[2]} [extra] @param {string} [code] */
	const add = async (last, title, text, extra, code) =>
		app.has(`${path}.${last}`) ? put(last, title, text, await band(app, `${path}.${last}`, extra), code) : null;
	const isPre = app.config.norm_placement === "pre";
	// The paper's figure has one box for both.
	const isOneBox = !isPre || app.state.figure === "paper";
	const norm = () => add("norm", "Norm", `${isPre ? "Here the norm comes before the sub-layer, which reads its result. " : ""}${normText(app)}`);
	/** @param {string} what whose output is added */
	const addAndNorm = async (what) => {
		const rule = isPre ? "x + SubLayer(LayerNorm(x))" : "LayerNorm(x + SubLayer(x))";
		const start = parts.length;
		await add("residual", "Add", `The residual connection: the input (${streamInto(app.doc, part)}) plus the output of ${what}.`);
		if (isOneBox) await norm();
		const both = parts.splice(start);
		if (both.length) parts.push(element("section", { id: "part-add-norm" }, element("h2", {}, isOneBox ? "Add & Norm" : "Add", element("small", {}, rule)), ...both));
	};
	return { parts, put, add, addNormBefore: async () => void (isOneBox || (await norm())), addAndNorm };
}

/** The matrices from dot products to weights, with one cursor. @param {App} app @param {SubLayer} part */
async function squares(app, part) {
	const { head } = app.state;
	const row = sidesOf(app.doc, part).rows === app.doc.target ? app.state.step : app.state.token;
	const weights = (await app.tensor(`${part.path}.weights`)).row(head, row);
	const cursor = new Cursor(row, weights.indexOf(Math.max(...weights)));
	const masked = app.has(`${part.path}.masked`) ? await app.tensor(`${part.path}.masked`) : null;
	const notes = Object.entries({
		scores: "query · key",
		energies: `a(s, h): ${app.config.attention}`,
		scaled: `÷ √${app.doc.tensors[`${part.path}.query`]?.shape[2] ?? 1}`,
		position_bias: "a number for each distance",
		masked: masked?.data.includes(-Infinity) ? "masked cells: −∞" : "nothing masked",
		weights: "each row sums to 1",
	});
	return Promise.all(
		notes
			.filter(([last]) => app.has(squareName(part, last)))
			.map(([last, note]) => {
				const hides = (last === "masked" || last === "weights") && masked;
				return square(app, app.doc, part, last, {
					note,
					hidden: hides ? (row, column) => reasonHidden(app.doc, part, row, column, masked.at([head, row, column])) : undefined,
					markedRow: row,
					id: last === "scores" ? undefined : `part-${last}`,
					cursor,
					open: app.open,
				});
			}),
	);
}

/** @type {Panel} */
export const attentionPanel = {
	id: "attention",
	title: "Attention",
	keys: ["attention", "head", "step", "token", "figure"],
	fits: (app) => attentions(app.doc).length > 0,
	async draw(app) {
		const part = parsePath(app.state.attention);
		if (!part || !app.has(`${part.path}.weights`)) {
			const first = attentions(app.doc)[0];
			if (first) app.go({ attention: first.path });
			return [];
		}
		const { path, kind } = part;
		const { head } = app.state;
		const { d_model: width, num_heads: numHeads } = app.config;
		const size = app.doc.tensors[`${path}.context`]?.shape[2] ?? 0;
		const shared = Math.floor(head / (app.config.queries_per_key ?? 1));
		const isCross = kind === "cross_attention";
		const reads = isCross
			? "Queries come from the target, keys and values from the memory of the source."
			: "Queries, keys and values are three projections of the same tokens.";
		const first = [lead(`${titleOf(part)}, head ${head + 1} of ${numHeads}. ${reads}`), attentionChoice(app)];
		const { parts, put, add, addNormBefore, addAndNorm } = steps(app, part, first);

		await addNormBefore();
		if (app.has(`${path}.value`)) {
			const bands = await Promise.all(["query", "key", "value"].map((name) => band(app, `${path}.${name}`, { head: name === "query" ? head : shared, role: name })));
			const isTurned = !isCross && app.config.position === "rotary";
			const turned = isTurned ? " Query and key are then turned by the angle of their position (see Positions)." : "";
			const text = `Three learned linear maps give this head ${size} numbers per position each: what it searches for (query), what it is matched by (key), what it passes on (value). Their input is ${readBy(app.doc, part, "query")}${isCross ? " and memory" : ""}.${turned}`;
			put("query", "Query, key, value", text, div("bands", ...bands));
		}
		const isMasked = part.stack === "decoder" && !isCross && app.doc.hidden["decoder.self"];
		const hiding = isMasked
			? "Hatched cells are later than their row: the mask sets them to −∞, and the softmax turns that into exactly 0."
			: "Nothing is masked here: every key is visible.";
		const how = app.has(`${path}.energies`)
			? "The decoder state is compared with each source token"
			: "A score is the dot product of a query and a key; dividing by √d_k stops large scores from saturating the softmax";
		const text = `Rows are queries, columns are keys. ${how}; the softmax turns each row into weights that sum to 1. ${hiding}`;
		put("scores", "From scores to weights", text, div("squares", ...(await squares(app, part))));
		const mixed = `Each row is the average of the values, weighted as above: ${size} numbers per position.`;
		await add("context", "Weighted values", mixed, { head, role: "value" });
		const framed = `The outputs of all ${numHeads} heads in one row of ${width}; the framed part is this head's.`;
		await add("concatenated", "Concatenated heads", framed, { markedColumns: [head * size, (head + 1) * size] });
		await add("output", "Times W_O", "One more learned linear map combines the heads.");
		await addAndNorm("attention");
		return parts;
	},
};

/** @type {Panel} */
export const feedForwardPanel = {
	id: "feed-forward",
	title: "Feed-forward",
	keys: ["attention", "step", "token", "figure"],
	fits: (app) => Object.keys(app.doc.tensors).some((name) => name.includes(".feed_forward.")),
	async draw(app) {
		const here = parsePath(app.state.attention);
		const part = parsePath(`${here?.stack ?? "encoder"}.layers.${here?.layer ?? 0}.feed_forward`);
		if (!part) return [];
		const { path, stack, layer } = part;
		const { d_model: width, d_ff: inner, feed_forward: kind } = app.config;
		const layers = attentions(app.doc).filter((each) => each.kind === "self_attention");
		const { parts, add, addNormBefore, addAndNorm } = steps(app, part, [
			lead(`${titleOf(part)}. After attention, each position is transformed by itself, with the same two linear maps for all.`),
			div(
				"choices",
				choice(
					"layer",
					layers.map((each) => [each.path, `${each.stack} ${each.layer + 1}`]),
					`${stack}.layers.${layer}.self_attention`,
					(value) => app.go({ attention: value.replace("self_attention", "feed_forward") }),
				),
			),
		]);
		await addNormBefore();
		await add("hidden", "First map", `From ${width} features to ${inner}, at each position by itself: tokens do not interact here.`);
		await add("gate", "Gate", "A second projection, multiplied with the first: it decides which features pass.");
		await add("activated", kind === "relu" ? "ReLU" : "Activation", await activationText(app, `${path}.activated`));
		await add("output", "Second map", `Back from ${inner} to ${width}.`, {}, "feed_forward");
		await addAndNorm("the network");
		return parts;
	},
};

/** @param {App} app @param {string} name */
async function activationText(app, name) {
	const kind = app.config.feed_forward;
	if (kind !== "relu") return `${kind}: positive features pass, negative ones become nearly 0.`;
	const { data } = await app.tensor(name);
	const active = data.reduce((sum, value) => sum + (value > 0 ? 1 : 0), 0);
	return `Negative features become 0: ${show((100 * active) / data.length, 1)} % of the features are positive for this sentence.`;
}
