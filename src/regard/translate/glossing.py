"""A glossary's words in a translation that stays a sentence.

A search that is forced to write a word which the model finds improbable pushes it in anywhere. So a sentence is
first translated freely; where a term is missing it is put in place of the words that came of it, and what the
forced search found stands beside this only if nothing else in it came of the term. The model says which is best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from regard.decode.penalties import length_penalty
from regard.text.tokenizer_base import TokenizerBase
from regard.translate.glossary import Place, lacks
from regard.translate.term_places import Proposal, agreeing, has_strays, proposals
from regard.translate.translation import Candidate
from regard.translate.wishes import Request

Search = Callable[[Sequence[str], Request], list[list[Candidate]]]
Score = Callable[[Sequence[str], Sequence[str]], list[list[float]]]

_MARGIN = 1.0
"""how much less probable than the free translation, per piece, a forced one may be; below it is no sentence"""


class Glossing:
    """The glossary's words for what a search found."""

    def __init__(self, search: Search, score: Score, target: TokenizerBase, language: str) -> None:
        self._search, self._score = search, score
        self._target, self._language = target, language

    def candidates(self, sentences: Sequence[str], request: Request) -> list[list[Candidate]]:
        """The candidates of each sentence; as the model has them where no place is found for a term."""
        places = {each: held for each in sentences if (held := request.places(each))}
        plain = [each for each in sentences if each not in places]
        found = dict(zip(plain, self._search(plain, request), strict=True))
        found |= dict(zip(places, self._search([*places], request.aligned()), strict=True))
        lacking = {each: held for each, held in places.items() if lacks(found[each][0].text, held)}
        free = {each: found[each] for each in lacking}
        placed = self._placed(proposals, free, lacking, request)
        forced = {}
        searched = self._search([*lacking], request.forced())
        for (sentence, held), candidates in zip(lacking.items(), searched, strict=True):
            least = _mean(free[sentence][0]) - _MARGIN
            forced[sentence] = [
                each
                for each in candidates
                if not lacks(each.text, held)
                and _mean(each) >= least
                and not has_strays(each.text, each.alignment or [], held, self._language)
            ]
        agreed = self._placed(agreeing, forced, lacking, request)
        for sentence in lacking:
            pool = {each.text: each for each in agreed[sentence] + placed[sentence]}
            ranked = sorted(pool.values(), key=lambda each: each.score, reverse=True)
            found[sentence] = ranked[: request.decode.n_best] or found[sentence]
        results = [found[each] for each in sentences]
        if request.alignment:
            return results
        return [[replace(each, alignment=None) for each in result] for result in results]

    def _placed(
        self,
        made_of: Callable[..., list[Proposal]],
        candidates: Mapping[str, Sequence[Candidate]],
        places: Mapping[str, Sequence[Place]],
        request: Request,
    ) -> dict[str, list[Candidate]]:
        """Of each candidate the most probable text that is made of it."""
        made = [
            (sentence, number, candidate, proposal)
            for sentence, several in candidates.items()
            for number, candidate in enumerate(several)
            for proposal in made_of(
                candidate.text, candidate.alignment or [], places[sentence], self._language
            )
            if request.allows(proposal.text)
        ]
        scores = self._score([each[0] for each in made], [each[3].text for each in made])
        best: dict[tuple[str, int], Candidate] = {}
        for (sentence, number, candidate, proposal), each in zip(made, scores, strict=True):
            new = self._candidate(candidate, proposal, each, request.decode.length_penalty)
            known = best.get((sentence, number))
            if known is None or _mean(new) > _mean(known):
                best[sentence, number] = new
        return {
            sentence: [best[sentence, i] for i in range(len(several)) if (sentence, i) in best]
            for sentence, several in candidates.items()
        }

    def _candidate(
        self, free: Candidate, proposal: Proposal, scores: list[float], alpha: float
    ) -> Candidate:
        total = math.fsum(scores)
        tokens = [*self._target.beginning, *self._target.encode(proposal.text)]
        return Candidate(
            text=proposal.text,
            tokens=self._target.token_strings(tokens),
            score=total / length_penalty(len(scores), alpha),
            log_probability=total,
            token_log_probabilities=scores,
            stop=free.stop,
            alignment=proposal.links,
        )


def _mean(candidate: Candidate) -> float:
    return candidate.log_probability / max(len(candidate.token_log_probabilities), 1)
