// What the tests run inside a page; the file is one expression, of which `reading.script` takes a function.
({
	open: async ([folder, manifest]) => {
		const { learn } = await import("/engine/rules.js");
		const { Subject } = await import("/engine/session.js");
		const get = async (name) => (await fetch(name)).arrayBuffer();
		learn(await (await fetch("/rules.json")).json());
		const [weights, source] = [await get(`${folder}/model.safetensors`), await get(`${folder}/${manifest.tokenizer.source}`)];
		window.open_ = (isPlain) => new Subject({ name: "", manifest, template: {} }, { weights, source, target: source }, isPlain);
		window.subject = window.open_(false);
	},

	trace: async ([source, target, reference]) => {
		const { Trace } = await import("/engine/trace.js");
		const file = await (await fetch(reference)).arrayBuffer();
		const start = 8 + Number(new DataView(file).getBigUint64(0, true));
		const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, start - 8)));
		delete header.__metadata__;
		const found = {};
		for (const isPlain of [false, true]) {
			const subject = window.open_(isPlain);
			if (!isPlain && !subject.weights.memory.kernels) throw new Error("this browser should have SIMD");
			const { values } = subject.model.trace(source, target, new Trace());
			for (const name of values.keys()) if (!(name in header)) found[name] = "made up";
			for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(header)) {
				const bytes = file.slice(start + from, start + to);
				const wanted = dtype === "I64" ? Float32Array.from(new BigInt64Array(bytes), Number) : new Float32Array(bytes);
				const own = values.get(name);
				if (String(own?.shape) !== String(shape)) { found[name] = `${own?.shape} is not ${shape}`; continue; }
				// What is next to nothing beside its neighbours is held against them.
				const most = wanted.reduce((most, value) => Math.max(most, Math.abs(value) < Infinity ? Math.abs(value) : 0), 0);
				wanted.forEach((value, i) => {
					const gap = own.data[i] === value ? 0 : Math.abs(own.data[i] - value) / Math.max(Math.abs(value), most / 50);
					if (!(gap < 1e-4)) found[name] = `${own.data[i]} is not ${value} at ${i}`;
				});
			}
		}
		return found;
	},

	searches: async ([sources, config, prefixes]) => {
		const { search } = await import("/engine/search.js");
		const { Engine } = await import("/engine/transformer.js");
		const engine = new Engine(window.subject.model);
		return sources.map((source, i) => {
			const history = [];
			const found = search(engine, source, config, { prefix: prefixes[i] }, history);
			return [found.map((each) => each.tokens), found.map((each) => each.score), history.map((each) => each.beams)];
		});
	},

	stages: async ([given]) => {
		const { split } = await import("/engine/sentences.js");
		const { translator: { normaliser }, source, manifest } = window.subject;
		const count = (text) => source.encode(normaliser.normalise(text).text).length;
		return given.map((text) => {
			const { sentences, separators } = split(text, manifest.source_language, count, manifest.longest);
			return [sentences, separators, sentences.map((each) => {
				const masked = window.subject.masked(each);
				const spans = masked.spans.map(({ span }) => span);
				return [normaliser.normalise(each, spans).text, masked.text, masked.spans.map(({ text, kind }) => [text, kind])];
			})];
		});
	},

	encode: async ([file, isJson, sentences]) => {
		const { Tokenizer } = await import("/engine/tokenizer.js");
		const tokenizer = new Tokenizer(await (await fetch(file)).arrayBuffer(), { isJson });
		return sentences.map((each) => tokenizer.encode(each)).map((ids) => [ids, tokenizer.decode(ids), tokenizer.tokenStrings(ids)]);
	},

	unreadable: selector => {
		const rgb = text => (text.match(/[\d.]+/g) ?? []).map(Number);
		const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
			.map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
			.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const known = new Map([[null, [255, 255, 255]]]);
		const behind = node => {
			if (!known.has(node)) {
				const colour = rgb(getComputedStyle(node).backgroundColor);
				known.set(node, colour.length === 3 || colour[3] === 1 ? colour : behind(node.parentElement));
			}
			return known.get(node);
		};
		const worst = [];
		for (const node of document.querySelectorAll(selector)) {
			if (!node.checkVisibility() || node.disabled || ![...node.childNodes].some(
				child => child.nodeType === 3 && child.textContent.trim())) continue;
			if (node.closest(".future, [aria-hidden=true], svg, :disabled")) continue;
			const [a, b] = [light(rgb(getComputedStyle(node).color)), light(behind(node))];
			const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			if (ratio < 4.5) worst.push(`${ratio.toFixed(2)} ${node.outerHTML.slice(0, 120)}`);
		}
		return worst;
	},

	addUp: async places => {
		const { derive } = await import("./arithmetic.js");
		const { DataSource } = await import("./source.js");
		const data = new DataSource(null);
		const doc = await data.open();
		const found = [];
		for (const place of places) {
			const { traced, result, formula } = await derive(doc, (name, row) => data.tensor(name, 0, row), place);
			found.push([traced, result, formula].map(String));
		}
		return found;
	},

	brightness: (canvas, [layers, heads, rows, columns]) => {
		const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
		const gap = 6, size = canvas.width / heads - gap, height = canvas.height / layers - gap;
		const found = [];
		for (let l = 0; l < layers; l++) for (let h = 0; h < heads; h++)
			for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) {
				const x = Math.floor(h * (size + gap) + (c + 0.5) * size / columns);
				const y = Math.floor(l * (height + gap) + (r + 0.5) * height / rows);
				const at = 4 * (y * canvas.width + x);
				found.push(data[at] + data[at + 1]);
			}
		return found;
	},
})
