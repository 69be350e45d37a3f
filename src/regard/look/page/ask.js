/** The text box of the header, its model, and which engine computes. */

import { element, form, p } from "./dom.js";
import { asking } from "./parts.js";

/** @type {Record<string, string[]>} by the language that is read */
const EXAMPLES = {
	fr: ["Jane visite l'Afrique en septembre.", "Elle lui a rendu le livre qu'il avait perdu.", "Il fait un temps de chien."],
	en: ["Jane visits Africa in September.", "She gave him back the book that he had lost.", "Time flies like an arrow."],
};
const ENGINES = {
	python: ["Python engine", "A server on this machine runs the model."],
	javascript: ["JavaScript engine", "This page runs the model itself; nothing is sent anywhere."],
	none: ["saved numbers", "This page holds the numbers of one run and no model."],
};

/** @param {App} app @param {HTMLElement} root @param {HTMLElement} badge */
export async function openAsk(app, root, badge) {
	const { data } = app;
	const [name = "", told = ""] = ENGINES[data.engineName];
	badge.textContent = name;
	badge.title = told;
	root.hidden = !data.isLive && !data.hindrance;
	if (!data.isLive) return root.replaceChildren(p("note", `${told} ${data.hindrance} \`regard look\` runs others.`));
	const models = await data.models();
	const choice = element("select", { id: "ask-model", "aria-label": "Model" }, ...models.map((each, i) => element("option", { value: i }, each.name)));
	choice.value = String(Math.max(0, models.findIndex((each) => each.name === app.doc.model.name)));
	choice.hidden = models.length < 2;
	const examples = element("datalist", { id: "ask-examples" });
	const input = element("input", {
		type: "text",
		id: "ask-text",
		list: "ask-examples",
		"aria-label": "A text for the model",
		placeholder: "Type a text, or choose an example",
		autocomplete: "off",
		spellcheck: "false",
	});
	const status = element("span", { class: "note", id: "ask-status", role: "status" });
	const fill = () => {
		const language = models[Number(choice.value)]?.language ?? "";
		examples.replaceChildren(...(EXAMPLES[language] ?? EXAMPLES["en"] ?? []).map((value) => element("option", { value })));
	};
	const asks = asking(status);
	const submit = async () => {
		const text = input.value.trim();
		status.textContent = text ? "computing …" : "type a text first";
		if (!text) return;
		root.setAttribute("aria-busy", "true");
		await asks(() => data.text(text, Number(choice.value)), ({ run }) => {
			app.go({ run, step: 0, token: 0, place: null });
			app.go({ step: app.numGiven });
			return [];
		});
		root.setAttribute("aria-busy", "false");
	};
	choice.addEventListener("change", () => {
		fill();
		input.value ||= app.doc.title;
		submit();
	});
	fill();
	const asked = form("ask", submit, input, examples, choice, element("button", { class: "primary", id: "ask-go" }, "Run"), status);
	root.replaceChildren(asked);
	const address = new URLSearchParams(location.hash.slice(1));
	const wanted = address.get("text");
	if (!wanted) return;
	input.value = wanted;
	choice.value = address.get("model") ?? choice.value;
	await submit();
}
