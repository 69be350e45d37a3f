/** Puts the page together. */

import { App } from "./app.js";
import { openAsk } from "./ask.js";
import { attentionPanel, feedForwardPanel } from "./attention_panel.js";
import { currentTheme } from "./colours.js";
import { comparePanel } from "./compare.js";
import { button, span } from "./dom.js";
import { embeddingPanel } from "./embedding.js";
import { Explanation } from "./explanation.js";
import { headsPanel } from "./heads.js";
import { learningView, openLearning } from "./learning.js";
import { overviewPanel } from "./overview.js";
import { attentionLinesPanel } from "./attention_lines.js";
import { figureOne } from "./map.js";
import { travel } from "./motion.js";
import { count } from "./numbers.js";
import { outputPanel } from "./output.js";
import { readingPanel } from "./reading.js";
import { trouble } from "./parts.js";
import { positionsPanel } from "./positions.js";
import { DataSource } from "./source.js";
import { IN_ADDRESS, Store } from "./store.js";
import { textBefore } from "./stages.js";
import { Player, tokenStrips } from "./strip.js";
import { writtenWords } from "./structure.js";
import { goToStep, tourCard } from "./tour.js";
import { runBanner, whatIfPanel } from "./whatif.js";

/** The weights, which a server alone makes small: a saved page does without the module. @type {Panel} */
const weightsPanel = {
	id: "weights",
	title: "Weights",
	keys: ["focus"],
	fits: (app) => app.data.engineName === "python",
	draw: async (app) => (await import("./weights.js")).weightsView(app),
};

/** The training run behind the model. @type {Panel} */
const learningPanel = {
	id: "learning",
	title: "Training",
	keys: ["head"],
	fits: (app) => app.training !== null,
	draw: learningView,
};

/** @type {Panel[]} */
const PANELS = [
	overviewPanel,
	attentionLinesPanel,
	attentionPanel,
	feedForwardPanel,
	headsPanel,
	positionsPanel,
	embeddingPanel,
	readingPanel,
	outputPanel,
	weightsPanel,
	learningPanel,
	whatIfPanel,
	comparePanel,
];

/** @type {State} */
const FIRST = {
	run: 0,
	view: "overview",
	attention: "encoder.layers.0.self_attention",
	head: 0,
	step: 0,
	token: 0,
	unit: "tokens",
	heads: "one",
	threshold: 0.1,
	tour: -1,
	place: null,
	focus: "",
	figure: "model",
};

/** letters of both sentences that the head shows in full; longer ones get a line each */
const MAX_IN_A_LINE = 130;

/** @param {string} id */
function part(id) {
	const found = document.getElementById(id);
	if (!found) throw new Error(`the page has no ${id}`);
	return found;
}

/** Draw into an element, keeping the keyboard where it was. @param {HTMLElement} root @param {(Node | string)[]} nodes */
function refill(root, nodes) {
	const focused = document.activeElement;
	const id = focused && root.contains(focused) ? focused.id : "";
	root.replaceChildren(...nodes);
	if (id) document.getElementById(id)?.focus({ preventScroll: true });
}

/** @param {App} app */
function drawHead(app) {
	const { doc } = app;
	document.title = `${doc.title} · regard look`;
	const { name, num_parameters: size } = doc.model;
	part("model-name").textContent = size ? `${name} · ${count(size)} weights` : name;
	// The output of a decoder-only model begins with the given text.
	const written = doc.result ?? doc.target?.text ?? "";
	const from = doc.stages ? doc.title : (doc.source?.text ?? (app.numGiven && written.startsWith(doc.title) ? doc.title : ""));
	const isFilled = app.isReader && written !== from && doc.source?.token_strings.includes(doc.model.mask ?? "");
	const to = !app.isReader || isFilled ? (doc.source ? written : written.slice(from.length)) : "";
	const isLong = Boolean(doc.source) && from.length + to.length > MAX_IN_A_LINE;
	part("sentence").className = isLong ? "long" : "";
	part("sentence").title = isLong || to.length > MAX_IN_A_LINE ? `${from}\n${to}` : "";
	part("sentence").replaceChildren(span("from", from), doc.source && to && !isLong ? " → " : "", span("to", to));
	const banner = runBanner(app);
	part("banner").hidden = banner.length === 0;
	part("banner").replaceChildren(...banner);
}

/** @param {App} app */
async function drawTour(app) {
	const root = part("tour");
	const nodes = app.state.tour >= 0 ? await tourCard(app) : [];
	root.hidden = nodes.length === 0;
	refill(root, nodes);
}

/** @param {App} app */
function drawTabs(app) {
	const tabs = PANELS.filter((panel) => panel.fits(app)).map((panel) =>
		button(
			{
				id: `tab-${panel.id}`,
				"aria-current": panel.id === app.state.view ? "page" : null,
				onclick: () => app.go({ view: panel.id, focus: "" }),
			},
			panel.title,
		),
	);
	refill(part("tabs"), tabs);
	document.getElementById(`tab-${app.state.view}`)?.scrollIntoView({ block: "nearest", inline: "center" });
}

/** @param {App} app */
function panelInView(app) {
	const fitting = PANELS.filter((each) => each.fits(app));
	return fitting.find((each) => each.id === app.state.view) ?? fitting[0];
}

/** The panel in view, drawn again whenever what it shows changes; a drawing that was overtaken is dropped. @param {App} app */
function panelDrawer(app) {
	let latest = 0;
	return async () => {
		const mine = ++latest;
		const panel = panelInView(app);
		if (!panel) return;
		const root = part("panel");
		const isNew = root.dataset["view"] !== panel.id;
		let nodes;
		try {
			nodes = await panel.draw(app);
		} catch (error) {
			nodes = [trouble(error)];
		}
		if (mine !== latest) return;
		const height = root.offsetHeight;
		root.style.minHeight = isNew ? "" : `${height}px`;
		root.dataset["view"] = panel.id;
		refill(root, nodes);
		requestAnimationFrame(() => {
			root.style.minHeight = "";
			if (isNew) scrollTo({ top: 0 });
			// Heat maps take their height from their width, one frame later.
			requestAnimationFrame(() => {
				bringIntoSight(app);
				root.dataset["drawn"] = String(mine);
			});
		});
	};
}

/** @param {App} app */
function bringIntoSight(app) {
	if (app.state.focus) document.getElementById(`part-${app.state.focus}`)?.scrollIntoView({ block: "start" });
}

/** @param {Player} player */
function listenToKeys(player) {
	document.addEventListener("keydown", (event) => {
		const target = event.target instanceof Element ? event.target : null;
		const isTyping = target?.closest("input, textarea, select, .table-scroll, [role=button], [contenteditable]");
		if (event.altKey || event.ctrlKey || event.metaKey) return;
		const { app } = player;
		if (event.key === "Escape") app.go(app.state.place ? { place: null } : { tour: -1 });
		else if (isTyping) return;
		else if (event.key === "ArrowRight") player.move(1);
		else if (event.key === "ArrowLeft") player.move(-1);
		else if (event.key === " " && !target?.closest("button, a")) player.toggle();
		else return;
		event.preventDefault();
	});
}

/** What this browser remembers of the page, where it may. @param {string} name @param {string} [value] a new one @returns {string | null} */
function remembered(name, value) {
	try {
		if (value !== undefined) localStorage.setItem(`regard-${name}`, value);
		return localStorage.getItem(`regard-${name}`);
	} catch {
		return null;
	}
}

/** @param {App} app */
function listenToTheme(app) {
	const button = part("theme");
	const label = () => {
		button.textContent = currentTheme() === "dark" ? "☀" : "☾";
	};
	const redraw = () => {
		label();
		app.store.tell([]);
	};
	const { dataset } = document.documentElement;
	const kept = remembered("theme");
	if (kept) dataset["theme"] = kept;
	button.addEventListener("click", () => {
		const wanted = currentTheme() === "dark" ? "light" : "dark";
		delete dataset["theme"];
		// What the system says anyway need not be remembered.
		const chosen = currentTheme() === wanted ? "" : wanted;
		if (chosen) dataset["theme"] = chosen;
		remembered("theme", chosen);
		redraw();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
	label();
}

/** The first word that is one token, or else the first token. @param {string[]} tokenStrings @param {number[][]} words @param {number} [from] */
function wholeWord(tokenStrings, words, from = 0) {
	return words.find(([first = 0, last = 0]) => first === last && first >= from && /^▁?\p{L}{4,}$/u.test(tokenStrings[first] ?? ""))?.[0] ?? from;
}

async function start() {
	const data = DataSource.here();
	const { run } = await data.open();
	const store = new Store({ ...FIRST, run });
	const app = new App(store, data);
	const { source, target } = app.doc;
	const written = app.doc.output.length ? writtenWords(app.doc).spans : [];
	app.go({ step: target ? wholeWord(app.doc.output.map((each) => each.token_string), written, app.numGiven) : 0, token: wholeWord(source?.token_strings ?? [], source?.words ?? []) });
	store.readAddress();
	app.settle();

	const player = new Player(app);
	const drawStrips = () => {
		refill(part("strips"), tokenStrips(app, player));
		part("strips").querySelector(".now")?.scrollIntoView({ block: "nearest", inline: "nearest" });
	};
	const drawText = () => refill(part("text"), textBefore(app));
	const drawMap = () => {
		refill(part("map"), [figureOne(app)]);
		if (player.isPlaying) travel(app, part("map"));
	};
	const drawPanel = panelDrawer(app);
	player.changed = drawStrips;
	const explanation = new Explanation(app, part("explanation"));

	store.listen(["run"], () => {
		app.settle();
		drawHead(app);
	});
	store.listen(["run"], drawText);
	store.listen(["run", "step", "token"], drawStrips);
	store.listen(["run", "step", "view", "attention", "focus", "figure"], drawMap);
	store.listen(["view", "run"], () => drawTabs(app));
	let drawn = "";
	store.listen(null, () => {
		// The state of other panels may change without this one being drawn again.
		const panel = panelInView(app);
		const wanted = JSON.stringify([currentTheme(), panel?.id, store.state.run, ...(panel?.keys ?? []).map((key) => store.state[key])]);
		if (wanted === drawn) return;
		drawn = wanted;
		drawPanel();
	});
	store.listen(["focus"], () => bringIntoSight(app));
	store.listen([...IN_ADDRESS, "place"], () => store.writeAddress());
	addEventListener("popstate", () => {
		store.readAddress();
		app.settle();
	});
	store.listen(["tour", "run"], () => drawTour(app));
	part("start-tour").addEventListener("click", () => goToStep(app, 0));
	listenToKeys(player);
	listenToTheme(app);
	await openAsk(app, part("ask"), part("engine"));
	if (data.engineName !== "none") await openLearning(app, part("learning"));
	drawHead(app);
	drawTabs(app);
	drawText();
	drawStrips();
	drawMap();
	if (store.state.tour >= 0) await goToStep(app, store.state.tour);
	await drawTour(app);
	await explanation.update();
	store.tell([]);
	document.body.dataset["ready"] = "true";
}

start().catch((error) => part("panel").replaceChildren(trouble(error)));
