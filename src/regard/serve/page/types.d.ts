/** What the server offers. */
interface ServerState {
	pairs: { source: string; target: string }[];
	languages: Record<string, string>;
	chat: string[];
	write: string[];
	look: boolean;
	characters: number;
	files: string[];
}

/** From where to where in the source, from where to where in the target. */
type Link = [number, number, number, number];

interface Target {
	text: string;
	links: Link[];
}

interface Sentence {
	source: string;
	source_start: number;
	start: number;
	targets: Target[];
}

interface Translation {
	source: string;
	probability: number | null;
	/** whether its language is sure */
	sure: boolean;
	text: string;
	sentences: Sentence[];
}

interface Message {
	role: "user" | "assistant";
	content: string;
}
