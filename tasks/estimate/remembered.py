"""Memory: look requests up in the reply cache before a run, without asking, writing, or making a cache."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from config.settings import Model, StoreSettings
from data.errors import InputError
from prompts.phrases import phrase
from tasks.estimate.earlier import EarlierRuns
from tasks.query import identify
from tasks.runtime.storage import cache_url, open_cache
from tasks.store.databases import file_of
from tasks.store.replies import Remembered


@dataclass
class CacheLookup:
    """The reply cache, looked into; None is known of a model that could not be identified. Notes in `language`.

    `examined` are the short exams that were counted: judge, step, language.
    """

    store: StoreSettings
    fresh: str
    earlier: EarlierRuns
    language: str
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    identities: dict[tuple[str, str], Mapping[str, str] | None] = field(default_factory=dict)
    examined: set[tuple[str, str, str]] = field(default_factory=set)

    def identity(self, role: str, model: Model) -> Mapping[str, str] | None:
        """Return what identifies a model, as a run would; None, with a note, where that cannot be told."""
        key = (role, model.name)
        if key not in self.identities:
            self.identities[key] = None
            try:
                self.identities[key] = identify(model) | ({"fresh": self.fresh} if self.fresh else {})
            except (InputError, TimeoutError) as error:
                why = str(error) or "its server does not answer"
                self.problems.append(f"{role} {model.name} cannot be asked: {why}")
                whose = {"role": phrase(f"page.role_{role}", self.language), "model": model.name}
                self.notes.append(phrase("estimate.no_lookup", self.language, why=why.rstrip("."), **whose))
        return self.identities[key]

    def lookup(self, ids: Iterable[str]) -> dict[str, Remembered]:
        """Return the remembered replies among requests."""
        wanted, file = list(dict.fromkeys(ids)), file_of(cache_url(self.store))
        there = file is None or (file.is_file() and file.stat().st_size > 0)  # a look must not make a cache
        return open_cache(self.store).lookup(wanted) if wanted and there else {}
