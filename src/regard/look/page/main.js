/** Puts the page together: reads the document, draws what the state asks for, listens to keys. */

import { App } from "./app.js";
import { openAsk } from "./ask.js";
import { attentionPanel, feedForwardPanel } from "./attention_panel.js";
import { currentTheme } from "./colours.js";
import { comparePanel } from "./compare.js";
import { button, span } from "./dom.js";
import { embeddingPanel } from "./embedding.js";
import { Explanation } from "./explanation.js";
import { headsPanel } from "./heads.js";
import { overviewPanel } from "./overview.js";
import { attentionLinesPanel } from "./attention_lines.js";
import { figureOne } from "./map.js";
import { count } from "./numbers.js";
import { outputPanel } from "./output.js";
import { trouble } from "./parts.js";
import { positionsPanel } from "./positions.js";
import { DataSource } from "./source.js";
import { IN_ADDRESS, Store } from "./store.js";
import { textBefore } from "./stages.js";
import { Player, tokenStrips } from "./strip.js";
import { goToStep, tourCard } from "./tour.js";
import { runBanner, whatIfPanel } from "./whatif.js";

/** @type {Panel[]} */
const PANELS = [
	overviewPanel,
	attentionLinesPanel,
	attentionPanel,
	feedForwardPanel,
	headsPanel,
	positionsPanel,
	embeddingPanel,
	outputPanel,
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
};

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
	const to = doc.source ? written : written.slice(from.length);
	part("sentence").replaceChildren(span("from", from), doc.source && to ? " → " : "", span("to", to));
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
	button.addEventListener("click", () => {
		document.documentElement.dataset["theme"] = currentTheme() === "dark" ? "light" : "dark";
		redraw();
	});
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
	label();
}

async function start() {
	const data = DataSource.here();
	const { run } = await data.open();
	const store = new Store({ ...FIRST, run });
	const app = new App(store, data);
	app.go({ step: app.numGiven });
	store.set(store.read(location.hash));
	app.settle();

	const player = new Player(app);
	const drawStrips = () => {
		refill(part("strips"), tokenStrips(app, player));
		part("strips").querySelector(".now")?.scrollIntoView({ block: "nearest", inline: "nearest" });
	};
	const drawText = () => refill(part("text"), textBefore(app));
	const drawMap = () => refill(part("map"), [figureOne(app)]);
	const drawPanel = panelDrawer(app);
	player.changed = drawStrips;
	new Explanation(app, part("explanation"));

	store.listen(["run"], () => {
		app.settle();
		drawHead(app);
	});
	store.listen(["run"], drawText);
	store.listen(["run", "step", "token"], drawStrips);
	store.listen(["run", "step", "view", "attention", "focus"], drawMap);
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
	store.listen(IN_ADDRESS, () => history.replaceState(null, "", store.address()));
	addEventListener("hashchange", () => {
		store.set(store.read(location.hash));
		app.settle();
	});
	store.listen(["tour", "run"], () => drawTour(app));
	part("start-tour").addEventListener("click", () => goToStep(app, 0));
	listenToKeys(player);
	listenToTheme(app);
	await openAsk(app, part("ask"), part("engine"));
	drawHead(app);
	drawTabs(app);
	drawText();
	drawStrips();
	drawMap();
	if (store.state.tour >= 0) await goToStep(app, store.state.tour);
	await drawTour(app);
	store.tell([]);
	document.body.dataset["ready"] = "true";
}

start().catch((error) => part("panel").replaceChildren(trouble(error)));
