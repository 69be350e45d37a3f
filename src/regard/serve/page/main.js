// The page begins here: which tabs there are, the theme, the key.

import { openChat } from "./chat.js";
import { get, say } from "./dom.js";
import { Refused, state, useKey } from "./server.js";
import { openTranslate } from "./translate.js";
import { openWrite } from "./write.js";

const TABS = ["translate", "chat", "write"];
const THEME = "regard-theme";

function openTheme() {
	const root = document.documentElement;
	const kept = localStorage.getItem(THEME);
	if (kept) root.dataset["theme"] = kept;
	get("theme", HTMLButtonElement).addEventListener("click", () => {
		const dark = root.dataset["theme"]
			? root.dataset["theme"] === "dark"
			: matchMedia("(prefers-color-scheme: dark)").matches;
		root.dataset["theme"] = dark ? "light" : "dark";
		localStorage.setItem(THEME, root.dataset["theme"]);
	});
}

/** @param {string} name */
function show(name) {
	for (const tab of TABS) {
		const button = get(`tab-${tab}`, HTMLButtonElement);
		const here = tab === name;
		button.setAttribute("aria-selected", String(here));
		button.tabIndex = here ? 0 : -1;
		get(`panel-${tab}`, HTMLElement).hidden = !here;
	}
}

function openTabs() {
	for (const [place, tab] of TABS.entries()) {
		const button = get(`tab-${tab}`, HTMLButtonElement);
		button.addEventListener("click", () => {
			location.hash = tab;
			show(tab);
		});
		button.addEventListener("keydown", (event) => {
			const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
			if (!step) return;
			const next = TABS[(place + step + TABS.length) % TABS.length] ?? "translate";
			get(`tab-${next}`, HTMLButtonElement).focus();
			get(`tab-${next}`, HTMLButtonElement).click();
		});
	}
	const follow = () => show(TABS.includes(location.hash.slice(1)) ? location.hash.slice(1) : "translate");
	addEventListener("hashchange", follow);
	follow();
}

/** @returns {Promise<ServerState>} asks for a key as often as it is needed */
async function enter() {
	const form = get("key-form", HTMLFormElement);
	for (;;) {
		try {
			const found = await state();
			form.hidden = true;
			return found;
		} catch (error) {
			if (!(error instanceof Refused)) throw error;
			if (![401, 403].includes(error.status)) {
				say(get("trouble", HTMLElement), `${error.message} Load the page again in a moment.`);
				return new Promise(() => undefined);
			}
			const first = form.hidden;
			form.hidden = false;
			say(get("key-trouble", HTMLElement), first ? "" : "This is not one of its keys.");
			get("key", HTMLInputElement).focus();
			await new Promise((done) =>
				form.addEventListener(
					"submit",
					(event) => {
						event.preventDefault();
						useKey(get("key", HTMLInputElement).value.trim());
						done(null);
					},
					{ once: true },
				),
			);
		}
	}
}

openTheme();
const found = await enter();
openTabs();
openTranslate(found);
openChat(found);
openWrite(found);
document.body.dataset["ready"] = "true";
