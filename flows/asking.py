"""What every suite's flow begins with: its items put to every model, in batches."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from config.settings import Settings
from data.records import Ref
from tasks.query import Asked, pose, query


@dataclass(frozen=True, slots=True)
class Identities:
    """What identifies each model and each judge beyond its name."""

    models: Mapping[str, Mapping[str, str]]
    judges: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Batch:
    """One model's replies to one batch of items."""

    label: str
    model: str
    items: Ref
    asked: Asked


def ask_models(suite: str, settings: Settings, items: Sequence[Ref], identities: Identities) -> Iterator[Batch]:
    """Put every batch to every model, all of them side by side; yield each as it is needed, in order."""
    started = []
    for model in settings.models:
        for number, batch in enumerate(items):
            label = f"{suite} {model.name} {number}" if len(items) > 1 else f"{suite} {model.name}"
            requests = pose(
                label,
                settings.store,
                batch,
                model=model,
                identity=identities.models[model.name],
                repeats=settings.repeats,
            )
            running = query.start(label, settings.store, requests, model=model, label=f"{suite} {model.name}")
            started.append((label, model.name, batch, running))
    for label, name, batch, running in started:
        yield Batch(label, name, batch, running.finish())
