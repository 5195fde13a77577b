"""Join the verdicts of several judges by how far each is to be believed, not by counting heads.

Each judge's errors are learned from the verdicts themselves, and from its passport where it has one: the passport's
confusion table stands as questions whose truth is known. Judges without a passport are believed as far as they
agree with the others; judges that all share an error cannot be told from right ones.

Source: Dawid & Skene 1979 (expectation maximisation); Paun et al. 2018 (the same model's posterior, for intervals).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metrics.stats.intervals import Codes, Floats, Interval

_ROUNDS = 200
_TOLERANCE = 1e-7
_PRIOR = 0.5
"""Questions that each judge is supposed to have been asked of each label, spread so that right is likelier."""

_CHAINS = 400
_SWEEPS = 40


@dataclass(frozen=True, slots=True)
class Consensus:
    """What a panel says: for each sample the shares of belief in each label, and each judge's confusion by rows.

    `right` has the 95 % interval of each judge's share of right verdicts, a mean over the labels.
    """

    belief: Floats
    confusion: Mapping[str, Floats]
    shares: Floats
    right: Mapping[str, Interval]
    drawn: Floats
    """True shares of the labels that could have made the verdicts, a draw a row."""

    def means(self, values: Sequence[float]) -> Floats:
        """Return each sample's expected value, its labels being worth `values`."""
        found: Floats = self.belief @ np.asarray(values, float)
        return found

    def mean_interval(self, values: Sequence[float]) -> Interval:
        """Return the 95 % interval of the mean value; it holds what is not known of the judges as well."""
        worth = np.asarray(values, float)
        mean = float(self.means(values).mean())
        return _between(self.drawn @ worth, mean, len(self.belief))


def consensus(
    verdicts: Mapping[str, Sequence[int | None]],
    n_labels: int,
    passports: Mapping[str, Sequence[Sequence[int]]] | None = None,
    *,
    seed: int = 0,
) -> Consensus:
    """Weigh the verdicts of a panel.

    `verdicts` has each judge's labels by sample, 0 … n_labels - 1, None where it failed; `passports` a judge's
    confusion counts, a row for each true label.

    Raises:
        ValueError: no judge, or judges of unlike numbers of samples.
    """
    lengths = {len(row) for row in verdicts.values()}
    if len(lengths) != 1:
        raise ValueError(f"expected judges of as many samples each, found {sorted(lengths)}")
    judges = list(verdicts)
    codes = np.array([[-1 if one is None else one for one in verdicts[judge]] for judge in judges], np.int64)
    # Replies of which all judges say the same are alike: they are counted, not looked at one by one.
    patterns, where, counts = np.unique(codes.T, axis=0, return_inverse=True, return_counts=True)
    said = (patterns[:, :, None] == np.arange(n_labels)).astype(float)
    known = np.stack([_known((passports or {}).get(judge), n_labels) for judge in judges])
    belief, tables, shares = _fitted(said, counts, known)
    drawn_tables, drawn = _drawn(said, counts, known, (tables, shares), np.random.default_rng(seed))
    rights = np.einsum("cjtt->cj", drawn_tables) / n_labels
    right = {
        judge: _between(rights[:, place], float(tables[place].trace() / n_labels), int((codes[place] >= 0).sum()))
        for place, judge in enumerate(judges)
    }
    return Consensus(belief[where.ravel()], dict(zip(judges, tables, strict=True)), shares, right, drawn)


def _fitted(said: Floats, counts: Codes, known: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the belief in each label of each pattern, each judge's table, and the labels' shares."""
    asked = (said.sum(axis=(1, 2)) > 0) * counts
    belief = _normalised(said.sum(axis=1) + 1e-9)
    tables, shares = known, belief[0]
    for _ in range(_ROUNDS):
        tables = _normalised(known + np.einsum("p,pt,pjs->jts", counts, belief, said))
        shares = _normalised(asked @ belief + _PRIOR)
        changed = _believed(said, tables[None], shares[None])[0]
        step, belief = float(np.abs(changed - belief).max(initial=0)), changed
        if step < _TOLERANCE:
            break
    return belief, tables, shares


def _believed(said: Floats, tables: Floats, shares: Floats) -> Floats:
    """Return the belief in each label of each pattern, of many tables and shares at once."""
    patterns, judges, labels = said.shape
    logs = np.log(np.maximum(tables, 1e-300)).transpose(0, 1, 3, 2).reshape(len(tables), judges * labels, -1)
    each = said.reshape(patterns, judges * labels) @ logs + np.log(np.maximum(shares, 1e-300))[:, None]
    return _normalised(np.exp(each - each.max(axis=2, keepdims=True)))


def _drawn(
    said: Floats, counts: Codes, known: Floats, start: tuple[Floats, Floats], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw tables and shares that could have made the verdicts: Gibbs sampling, in chains from the fit on."""
    tables, shares = (np.broadcast_to(one, (_CHAINS, *one.shape)) for one in start)
    asked = said.sum(axis=(1, 2)) > 0
    flat = said.reshape(len(said), -1)
    for _ in range(_SWEEPS):
        truths = rng.multinomial(counts, _believed(said, tables, shares)).astype(float)
        seen = (truths.transpose(0, 2, 1) @ flat).reshape(_CHAINS, -1, *said.shape[1:]).transpose(0, 2, 1, 3)
        tables = _normalised(rng.standard_gamma(known + seen) + 1e-300)
        shares = _normalised(rng.standard_gamma(truths[:, asked].sum(axis=1) + _PRIOR) + 1e-300)
    return tables, shares


def _between(drawn: Floats, value: float, units: int) -> Interval:
    low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
    return Interval(min(low, value), max(high, value), "posterior", units)


def _known(passport: Sequence[Sequence[int]] | None, n_labels: int) -> Floats:
    prior = np.full((n_labels, n_labels), _PRIOR / n_labels) + np.eye(n_labels) * _PRIOR
    return prior if passport is None else prior + np.asarray(passport, float)


def _normalised(counts: Floats) -> Floats:
    shares: Floats = counts / counts.sum(axis=-1, keepdims=True)
    return shares
