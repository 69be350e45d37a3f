/** Puts the page together: reads the document, draws what the state asks for, listens to keys. */

import { App } from "./app.js";
import { attentionPanel, feedForwardPanel } from "./attention_panel.js";
import { currentTheme } from "./colours.js";
import { comparePanel } from "./compare.js";
import { button, element } from "./dom.js";
import { embeddingPanel } from "./embedding.js";
import { Explanation } from "./explanation.js";
import { headsPanel } from "./heads.js";
import { journeyPanel } from "./journey.js";
import { linesPanel } from "./lines.js";
import { figureOne } from "./map.js";
import { count } from "./numbers.js";
import { outputPanel } from "./output.js";
import { trouble } from "./parts.js";
import { positionsPanel } from "./positions.js";
import { DataSource } from "./source.js";
import { Store } from "./store.js";
import { Player, tokenStrips } from "./strip.js";
import { goToStep, tourCard } from "./tour.js";
import { runBanner, whatIfPanel } from "./whatif.js";

/** @type {Panel[]} */
const PANELS = [
	journeyPanel,
	linesPanel,
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
	view: "journey",
	attention: "encoder.layers.0.self_attention",
	head: 0,
	step: 0,
	token: 0,
	unit: "pieces",
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

/** Draw into an element, keeping the keyboard where it was. @param {HTMLElement} root @param {Node[]} nodes */
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
	part("model-name").textContent = doc.model.num_parameters
		? `${doc.model.name} · ${count(doc.model.num_parameters)} weights`
		: doc.model.name;
	part("sentence").replaceChildren(
		...(doc.source ? [element("span", { class: "from" }, doc.source.text)] : []),
		...(doc.source && doc.target ? [" → "] : []),
		...(doc.target ? [element("span", { class: "to" }, doc.target.text)] : []),
	);
	const banner = runBanner(app);
	part("banner").hidden = banner.length === 0;
	part("banner").replaceChildren(...banner);
}

/** @param {App} app */
async function drawTour(app) {
	const root = part("tour");
	const isWanted = app.state.tour >= 0;
	const nodes = isWanted ? await tourCard(app) : [];
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

/**
 * The panel in view, drawn again whenever what it shows changes; a drawing that was overtaken is dropped.
 * @param {App} app
 */
function panelDrawer(app) {
	let latest = 0;
	return async () => {
		const mine = ++latest;
		const fitting = PANELS.filter((each) => each.fits(app));
		const panel = fitting.find((each) => each.id === app.state.view) ?? fitting[0];
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
			if (isNew) window.scrollTo({ top: 0 });
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
	const { focus } = app.state;
	if (!focus) return;
	document.getElementById(`part-${focus}`)?.scrollIntoView({ block: "start" });
}

/** @param {Player} player */
function listenToKeys(player) {
	document.addEventListener("keydown", (event) => {
		const target = event.target instanceof Element ? event.target : null;
		const isTyping = target?.closest("input, textarea, select, .table-scroll, [role=button], [contenteditable]");
		if (event.altKey || event.ctrlKey || event.metaKey || isTyping) return;
		if (event.key === "ArrowRight") player.move(1);
		else if (event.key === "ArrowLeft") player.move(-1);
		else if (event.key === " " && !target?.closest("button, a")) player.toggle();
		else if (event.key === "Escape") player.app.go({ place: null, tour: -1 });
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
		const { view } = app.state;
		app.store.state = { ...app.store.state, view: "" };
		app.go({ view });
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
	const document_ = await data.open();
	const store = new Store({ ...FIRST, run: document_.run });
	const app = new App(store, data);
	store.set(store.read(location.hash));
	app.settle();

	const player = new Player(app);
	const drawStrips = () => {
		refill(part("strips"), tokenStrips(app, player));
		part("strips").querySelector(".now")?.scrollIntoView({ block: "nearest", inline: "nearest" });
	};
	const drawMap = () => refill(part("map"), [figureOne(app)]);
	const drawPanel = panelDrawer(app);
	player.changed = drawStrips;
	new Explanation(app, part("explanation"));

	store.listen(["run"], () => {
		app.settle();
		drawHead(app);
	});
	store.listen(["run", "step", "token"], drawStrips);
	store.listen(["run", "step", "view", "attention", "focus"], () => drawMap());
	store.listen(["view", "run"], () => drawTabs(app));
	store.listen(["run", "view", "attention", "head", "step", "token", "unit", "heads", "threshold"], () => {
		const panel = PANELS.find((each) => each.id === store.state.view);
		const shown = part("panel").dataset["view"];
		// The state of other panels may change without this one being drawn again.
		if (panel && panel.id === shown && lastKey === keyOf(panel)) return;
		if (panel) lastKey = keyOf(panel);
		drawPanel();
	});
	let lastKey = "";
	/** @param {Panel} panel */
	const keyOf = (panel) => JSON.stringify([currentTheme(), store.state.run, ...panel.keys.map((key) => store.state[key])]);
	store.listen(["focus"], () => bringIntoSight(app));
	store.listen(["view", "attention", "head", "step", "token", "unit", "heads", "threshold", "tour"], () => {
		history.replaceState(null, "", store.address());
	});
	window.addEventListener("hashchange", () => {
		store.set(store.read(location.hash));
		app.settle();
	});
	store.listen(["tour", "run"], () => drawTour(app));
	part("start-tour").addEventListener("click", () => goToStep(app, 0));
	listenToKeys(player);
	listenToTheme(app);
	drawHead(app);
	drawTabs(app);
	drawStrips();
	drawMap();
	if (store.state.tour >= 0) await goToStep(app, store.state.tour);
	await drawTour(app);
	await drawPanel();
	document.body.dataset["ready"] = "true";
}

start().catch((error) => part("panel").replaceChildren(trouble(error)));
