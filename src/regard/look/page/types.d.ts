/** The shapes that several modules share. A browser never loads this file; `tsc` reads it. */

type App = import("./app.js").App;
type Store = import("./store.js").Store;
type DataSource = import("./source.js").DataSource;
type Tensor = import("./tensor.js").Tensor;
type Cursor = import("./matrix.js").Cursor;

/* what the server sends */

interface ModelConfig {
	architecture: string;
	num_encoder_layers: number;
	num_decoder_layers: number;
	d_model: number;
	d_ff: number;
	num_heads: number;
	queries_per_key?: number;
	rotary_frequencies?: number[];
	slopes?: number[] | null;
	query_key_norm?: boolean;
	biases?: string;
	window?: number | null;
	attention: string;
	source_vocab_size: number;
	target_vocab_size: number;
	position: string;
	norm: string;
	norm_epsilon: number;
	num_buckets: number;
	max_distance: number;
	norm_placement: string;
	embedding_norm: boolean;
	max_positions: number;
	scaled_embedding: boolean;
	feed_forward: string;
	tied: string;
}

/** One of the two sentences. */
interface Side {
	text: string;
	tokens: number[];
	token_strings: string[];
	/** first and last token of each word */
	words: number[][];
	/** how many of the target's tokens were the reader's */
	num_given?: number;
}

interface Candidate {
	token: number;
	token_string: string;
	probability: number;
}

/** What one target position says comes next. */
interface Written extends Candidate {
	top: Candidate[];
}

interface Beam {
	tokens: number[];
	token_strings: string[];
	score: number;
	parent: number | null;
}

type Edit =
	| { kind: "head-off"; attention: string; head: number }
	| { kind: "no-positions" }
	| { kind: "no-mask" }
	| { kind: "replace-word"; index: number; text: string }
	| { kind: "force-next"; step: number; text: string }
	| { kind: "edit-row"; attention: string; head: number; row: number; weights: number[] }
	| { kind: "search"; settings: { method?: string; beam?: number; temperature?: number; seed?: number } };

/** The text of a sentence at each stage of the pipeline. */
interface Stages {
	given: string;
	normalised: string;
	/** what the model reads: with stand-ins for protected spans */
	protected: string;
	/** what the model wrote */
	written: string;
	/** the translation: with protected spans in place */
	restored: string;
}

/** Everything about one run but its arrays. */
interface Doc {
	version: number;
	run: number;
	title: string;
	model: { /** 0, or 1 for the second model */ number?: number; name: string; architecture: string; config: ModelConfig; num_parameters: number; task?: string; mask?: string | null; /** of the tokens' vectors, the sentence's: their mean, or the first, of [CLS] */ pooling?: string; /** of its training, where it is a snapshot */ step: number | null };
	/** how the output was searched; null for a model that does not write */
	search?: { method: string; beam: number; temperature: number; top_k: number; top_p: number; seed: number | null } | null;
	/** of the sentence in view; null for a model that does not translate */
	stages?: Stages | null;
	/** the sentences of the text, as given */
	sentences?: string[];
	/** which of them is in view */
	sentence?: number;
	/** the whole text that `translate` gives */
	result?: string;
	source: Side | null;
	target: Side | null;
	tensors: Record<string, { shape: number[] }>;
	/** why a masked cell is hidden, for each kind of attention */
	hidden: Record<string, string | null>;
	/** what the search saw */
	steps: { beams: Beam[]; top: Candidate[][] }[];
	output: Written[];
	parameters: Record<string, number[]>;
	/** four criteria for positions, and how three schemes meet them */
	criteria?: { schemes: string[]; rows: { criterion: string; answers: { holds: boolean; text: string }[] }[] };
	code: Record<string, { file: string; line: number }>;
	/** the training step that the run is of */
	training?: Taken | null;
	changes: { edits: Edit[]; original: number; text: string } | null;
	compare?: Doc | null;
}

/** A training step on one pair. */
interface Taken {
	step: number;
	rate: number;
	smoothing: number;
	vocabulary: number;
	positions: { read: string; correct: string; token: number; log: number; mean: number; loss: number; probability: number; after: number }[];
	loss: number;
	norms: Record<string, number>;
	norm: number;
	clip: number;
	clipping: number;
	has_moments: boolean;
}

interface Probe {
	source: string;
	reference: string;
	written: string;
}

/** A run of training: the steps of its snapshots, its measurements, and what may be wrong with it. */
interface Learning {
	steps: number[];
	finished: boolean;
	train: { step: number; loss: number | null; rate: number | null; gradient: number | null }[];
	valid: { step: number; loss: number | null; bleu: number | null }[];
	/** the curves are those after this step */
	after: number;
	warning: string | null;
	smoothing: number;
	/** seconds for which the page should not follow a run that goes on */
	wait: number;
}

interface Plane {
	source: number[][];
	target: number[][];
	explained: number[];
}

interface Neighbour {
	token: number;
	token_string: string;
	cosine: number;
}

/* what the page shows */

/** One number: a tensor's name and where in it. */
interface Place {
	name: string;
	index: number[];
	/** the run it is of, where that is not the one in view */
	run?: number;
}

interface State {
	run: number;
	view: string;
	/** path of the sub-layer in view */
	attention: string;
	head: number;
	/** the target position that is being written */
	step: number;
	/** the source position in view */
	token: number;
	/** tokens or words */
	unit: string;
	/** which heads the lines show: one, layer, all */
	heads: string;
	threshold: number;
	/** the step of the tour, -1 when nobody takes it */
	tour: number;
	/** the number whose arithmetic is open */
	place: Place | null;
	/** the part of a panel to bring into sight */
	focus: string;
	/** whose norms the map draws: this model's or the paper's */
	figure: string;
}

interface Panel {
	id: string;
	title: string;
	/** the parts of the state it draws */
	keys: (keyof State)[];
	/** whether this model has anything to show in it */
	fits: (app: App) => boolean;
	draw: (app: App) => Promise<(HTMLElement | string)[]>;
}

interface SubLayer {
	/** such as encoder.layers.0.self_attention */
	path: string;
	stack: "encoder" | "decoder";
	layer: number;
	kind: "self_attention" | "cross_attention" | "feed_forward";
}

/** A box of the map. */
interface Box {
	id: string;
	text: string;
	/** class of the paper's colour */
	tint: string;
	/** its centre */
	x: number;
	/** its top */
	y: number;
	height: number;
	opens: (app: App) => Partial<State>;
	/** whether the model does it in another way than the paper */
	differs?: boolean;
	/** a box of the paper's that the model has not */
	isAbsent?: boolean;
}

/** A part of a sentence, or a number of the trace; without digits a share. */
type Words = string | { value: number; place: Place; digits?: number };

interface TourStep {
	title: string;
	/** the box whose source file computes it */
	code: string;
	fits?: (app: App) => boolean;
	view: (app: App) => Partial<State> | Promise<Partial<State>>;
	tell: (app: App) => Promise<Words[]>;
}

/* arithmetic */

type Fetch = (name: string, row?: number) => Promise<Tensor>;

interface Operand {
	value: number;
	place?: Place;
}

interface Term {
	label: string;
	operands: Operand[];
	result: number;
}

/** One step between the terms and the result. */
interface Line extends Operand {
	text: string;
}

/** One side of a sum of products. */
interface Factor {
	values: ArrayLike<number>;
	place?: (j: number) => Place;
}

/** A sum of products and what is said of it. */
interface Products {
	sentence: string;
	formula: string;
	/** heads of the two factors */
	heads: [string, string];
	left: Factor;
	right: Factor;
	bias?: number;
	/** what each term stands for */
	what?: string;
	label?: (j: number) => string;
}

interface Softmax {
	sentence: string;
	/** what is raised */
	x: string;
	/** what each term stands for */
	what: string;
	terms: Term[];
	own: number;
	/** of all exponentials, shown or not */
	sum: number;
	lines: Line[];
}

interface Linear {
	sentence: string;
	/** what the formula calls the input */
	x?: string;
	/** what it calls the weights */
	matrix: string;
	input: string;
	position: number;
	column: number;
}

interface Derivation {
	place: Place;
	/** the value the model computed */
	traced: number;
	/** what it is, in words */
	sentence: string;
	formula: string;
	/** heads of the terms' operands and of their result */
	columns: string[];
	terms: Term[];
	lines: Line[];
	/** the same value, computed again here */
	result: number;
}

/* drawing */

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: any) => void)>;

/** Makes an element with attributes, of which those that begin with "on" are listeners. */
type Make<Kinds> = <Tag extends keyof Kinds & string>(tag: Tag, attributes?: Attributes, ...children: Child[]) => Kinds[Tag];

type Plain = <Tag extends keyof HTMLElementTagNameMap>(
	tag: Tag,
) => (kind: string, ...children: Child[]) => HTMLElementTagNameMap[Tag];

/** Words in a drawing: a class, a place, the words, where they are held. */
type Caption = (
	kind: string,
	x: number,
	y: number,
	text: Child,
	anchor?: "start" | "middle" | "end",
	more?: Attributes,
) => SVGTextElement;

/** A row and a column. */
type Cell = [number, number];

/** How one walks through the cells of a canvas. */
interface Walk {
	size: Cell;
	at: () => Cell;
	under: (event: MouseEvent) => Cell | null;
	move: (cell: Cell) => void;
	open: () => void;
}

/** A value and how it reads. */
type Choice = [string | number, string | number];

/** A token in the strip of its sentence. */
interface Chip {
	id: string;
	chosen: boolean;
	state?: string;
	title: string;
	press: () => void;
	foot: HTMLElement | null;
}

interface Scale {
	table: Uint8ClampedArray;
	low: number;
	high: number;
}

/** How a line is told from others: by colour, and by dashes where colours repeat. */
interface LineStyle {
	colour: string;
	dash: number[];
}

interface HeatmapOptions {
	rows: string[];
	/** labels, or how many features there are */
	columns: string[] | number;
	value: (row: number, column: number) => number;
	/** why a cell may not be seen */
	hidden?: (row: number, column: number) => string | null;
	scale: "share" | "signed";
	/** the size at which a signed scale is full */
	limit?: number;
	markedRow?: number;
	/** first and one past the last */
	markedColumns?: [number, number];
	rowHeight?: number;
}

interface MatrixOptions extends HeatmapOptions {
	title: string;
	id?: string;
	note?: string;
	place?: (row: number, column: number) => Place | null;
	/** shared by matrices of the same cells */
	cursor?: Cursor;
	open?: (place: Place) => void;
	/** what opening a cell shows */
	hint?: string;
	/** a class: query, key, value */
	role?: string;
}

/* single panels */

interface Stage {
	tensor: string;
	title: string;
	text: string;
	code: string;
	/** where its inside is shown */
	opens?: Partial<State>;
}

interface Link {
	row: number;
	column: number;
	weight: number;
	head: number;
	path: string;
}

interface Point {
	x: number;
	y: number;
}

/** The words between which lines are drawn. */
interface LineSides {
	rowSpans: number[][];
	columnSpans: number[][];
	queries: string[];
	keys: string[];
	/** the query in view */
	focus: number;
	isWriting: boolean;
	/** whether the queries are named by what is written, not by what is read */
	areWritten: boolean;
}

/** Where the words of both sides stand; flat: in two rows, else in two columns. */
interface Arrangement {
	queries: Point[];
	keys: Point[];
	width: number;
	height: number;
	flat: boolean;
}

interface Label extends Point {
	size: number;
}

interface Dot extends Point {
	token_string: string;
	token: number;
	side: "source" | "target";
	position: number;
	isChosen?: boolean;
}

