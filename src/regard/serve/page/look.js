// The door into look: every number of what a model has done.

import { make, say } from "./dom.js";
import * as server from "./server.js";

/**
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} status
 * @param {() => Parameters<typeof server.look>[0] | null} request what to open
 */
export function opensLook(button, status, request) {
	button.addEventListener("click", async () => {
		const wanted = request();
		if (!wanted) return;
		say(status, "Opening every number of it…");
		button.disabled = true;
		try {
			const link = make("a", { href: await server.look(wanted), target: "_blank", text: "Every number of it" });
			status.replaceChildren(link);
			link.click();
		} catch (error) {
			say(status, error instanceof Error ? error.message : String(error));
		}
		button.disabled = false;
	});
}
