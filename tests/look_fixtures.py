"""Random models to look into, of any architecture, with a real tokenizer; no two of their sizes are equal."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from fixtures import randomize_vectors, tokenizer

from regard.config import DecodeConfig, ModelConfig
from regard.engine.torch import to_tensors
from regard.folder.checkpoint import save
from regard.folder.manifest import Manifest, Task
from regard.look.session import Session
from regard.look.subject import Subject
from regard.model.transformer import build

SENTENCE = "Jane visite l'Afrique en septembre."
SEARCH: dict[str, Any] = {"max_length": 14, "beam": 3, "no_repeat_ngram": 3}
"""without repetition, which a random model would be searched again for"""


def make_subject(name: str = "random", seed: int = 11, **changes: Any) -> Subject:
    """Every weight random; it prefers tokens of real words, and writes at most fourteen."""
    vocabulary = tokenizer()
    sizes = dict(num_encoder_layers=2, num_decoder_layers=3, d_model=30, d_ff=37, num_heads=5, max_positions=53)
    sizes |= dict.fromkeys(("source_vocab_size", "target_vocab_size"), vocabulary.vocab_size)
    config = ModelConfig(**{**sizes, **changes})
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = randomize_vectors(build(config))
    manifest = Manifest(source_language="fr", target_language="en", model=config, decode=DecodeConfig(**SEARCH))
    return Subject(name, manifest, network, vocabulary, vocabulary)


def save_subject(subject: Subject, folder: Path, task: Task = "translate") -> Path:
    """The model as a folder."""
    manifest = replace(subject.manifest, task=task)
    tensors = to_tensors(subject.network.state_dict(), subject.config)
    save(folder, manifest, tensors, {"tokenizer.model": subject.source.proto}, "# Random\n")
    return folder


def make_session(subject: Subject | None = None, text: str = SENTENCE, **decode: Any) -> Session:
    subject = subject or make_subject()
    return Session(subject, text, DecodeConfig(**{**SEARCH, **decode}))
