// A conversation.

import { chooser, get, make, say } from "./dom.js";
import { opensLook } from "./look.js";
import { stream } from "./server.js";

/** @param {ServerState} state */
export function openChat(state) {
	get("no-chat", HTMLElement).hidden = state.chat.length > 0;
	get("chat", HTMLElement).hidden = !state.chat.length;
	if (!state.chat.length) return;
	const model = chooser("chat-model", state.chat);

	const form = get("chat-form", HTMLFormElement);
	const input = get("message", HTMLTextAreaElement);
	const log = get("messages", HTMLElement);
	const send = get("send", HTMLButtonElement);
	const stop = get("stop-chat", HTMLButtonElement);
	const trouble = get("chat-trouble", HTMLElement);
	/** @type {Message[]} */
	let messages = [];
	/** @type {{ model: string, text: string } | null} */
	let translated = null;
	/** @type {AbortController | null} */
	let writing = null;

	/** @param {Message["role"]} role @param {string} text @returns {HTMLElement} */
	function add(role, text) {
		const bubble = make("p", { className: `bubble ${role}`, text });
		bubble.append(make("span", { className: "unseen", text: role === "user" ? " (you)" : " (model)" }));
		log.append(bubble);
		log.scrollTop = log.scrollHeight;
		return bubble;
	}

	/** @param {boolean} busy */
	function setBusy(busy) {
		send.hidden = busy;
		stop.hidden = !busy;
	}

	async function answer() {
		const text = input.value.trim();
		if (!text || writing) return;
		input.value = "";
		say(trouble, "");
		messages.push({ role: "user", content: text });
		const question = add("user", text);
		const bubble = add("assistant", "");
		const words = make("span");
		bubble.prepend(words);
		translated = null;
		const controller = (writing = new AbortController());
		const conversation = messages;
		const request = { model: model(), messages };
		setBusy(true);
		try {
			for await (const part of stream("v1/chat/completions", request, controller.signal, (chunk) => {
				if (translated || !chunk.translated) return;
				translated = { model: chunk.model, text: chunk.translated };
				bubble.append(make("span", { className: "note", text: ` translated by ${chunk.model}` }));
			})) {
				words.textContent += part;
				log.scrollTop = log.scrollHeight;
			}
		} catch (error) {
			if (!controller.signal.aborted) say(trouble, error instanceof Error ? error.message : String(error));
		}
		const said = words.textContent ?? "";
		if (said) conversation.push({ role: "assistant", content: said });
		else {
			// Nothing came of it: it can be said again.
			conversation.pop();
			question.remove();
			bubble.remove();
			input.value ||= text;
		}
		if (writing !== controller) return;
		writing = null;
		setBusy(false);
		input.focus();
	}

	const look = get("look-chat", HTMLButtonElement);
	look.hidden = !state.look;
	opensLook(look, get("look-chat-status", HTMLElement), () => {
		// The translator, where it answered; or as the chat model reads it: a turn a line, up to what was last said to it.
		if (translated) return translated;
		const last = messages.map((message) => message.role).lastIndexOf("user");
		const turns = messages.slice(0, last + 1).map((message) => message.content.replace(/\s+/g, " "));
		return turns.length ? { text: turns.join("\n"), model: model() } : null;
	});

	form.addEventListener("submit", (event) => {
		event.preventDefault();
		answer();
	});
	input.addEventListener("keydown", (event) => {
		if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
		event.preventDefault();
		answer();
	});
	stop.addEventListener("click", () => writing?.abort());
	get("new-chat", HTMLButtonElement).addEventListener("click", () => {
		writing?.abort();
		writing = null;
		setBusy(false);
		messages = [];
		translated = null;
		log.replaceChildren();
		say(trouble, "");
		input.focus();
	});
}
