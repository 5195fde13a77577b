"""Join the verdicts of several judges by how far each is to be believed, not by counting heads.

Each judge's errors are learned from the verdicts themselves, and from its passport where it has one: the passport's
confusion table stands as questions whose truth is known. Judges without a passport are believed as far as they
agree with the others; judges that all share an error cannot be told from right ones.

Source: Dawid & Skene 1979 (expectation maximisation).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metrics.stats.intervals import Floats

_ROUNDS = 200
_TOLERANCE = 1e-7
_PRIOR = 0.5
"""Questions that each judge is supposed to have been asked of each label, spread so that right is likelier."""


@dataclass(frozen=True, slots=True)
class Consensus:
    """What a panel says: for each sample the shares of belief in each label, and each judge's confusion by rows."""

    belief: Floats
    confusion: Mapping[str, Floats]
    shares: Floats

    def means(self, values: Sequence[float]) -> Floats:
        """Return each sample's expected value, its labels being worth `values`."""
        found: Floats = self.belief @ np.asarray(values, float)
        return found


def consensus(
    verdicts: Mapping[str, Sequence[int | None]],
    n_labels: int,
    passports: Mapping[str, Sequence[Sequence[int]]] | None = None,
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
    said = np.zeros((len(judges), lengths.pop(), n_labels))
    for row, judge in zip(said, judges, strict=True):
        for place, label in enumerate(verdicts[judge]):
            if label is not None:
                row[place, label] = 1
    known = np.stack([_known((passports or {}).get(judge), n_labels) for judge in judges])
    asked = said.sum(axis=(0, 2)) > 0
    belief = _normalised(said.sum(axis=0) + 1e-9)
    for _ in range(_ROUNDS):
        tables = _normalised(known + np.einsum("nt,jns->jts", belief, said))
        shares = _normalised(belief[asked].sum(axis=0) + _PRIOR)
        logs = np.log(shares) + np.einsum("jns,jts->nt", said, np.log(tables))
        changed = _normalised(np.exp(logs - logs.max(axis=1, keepdims=True)))
        step, belief = float(np.abs(changed - belief).max(initial=0)), changed
        if step < _TOLERANCE:
            break
    return Consensus(belief, dict(zip(judges, tables, strict=True)), shares)


def _known(passport: Sequence[Sequence[int]] | None, n_labels: int) -> Floats:
    prior = np.full((n_labels, n_labels), _PRIOR / n_labels) + np.eye(n_labels) * _PRIOR
    return prior if passport is None else prior + np.asarray(passport, float)


def _normalised(counts: Floats) -> Floats:
    shares: Floats = counts / counts.sum(axis=-1, keepdims=True)
    return shares
