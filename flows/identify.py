"""Identify models and judges before anything is asked, and find what stands in for servers that are down."""

import logging
from collections.abc import Mapping
from dataclasses import replace

from basic_control.config.settings import Model
from basic_control.data.batches import StoredIdentity
from basic_control.data.errors import InputError
from basic_control.tasks.estimate.stored import find_unstored
from basic_control.tasks.held import HeldReplies
from basic_control.tasks.judges.cascades import join_identities
from basic_control.tasks.models.identities import remember_identity
from basic_control.tasks.plan import Identities, Plan
from basic_control.tasks.plan_judges import check_judges
from basic_control.tasks.query import find_identity
from basic_control.tasks.runtime.logs import log_event


def identify_all(plan: Plan, replies: HeldReplies | None = None) -> Identities:
    """Identify every model and judge that will be asked, before anything is asked or paid for.

    With the replies of an earlier run no model is asked.

    A model that cannot be asked does not stop the others: it is listed as missing, and its verdict is an error.
    Where a server does not answer and all replies that the run needs of it are stored, these are used.

    Raises:
        InputError: no model, or one of the judges, can be reached, or its server does not have it; or a judged
            metric has no judge.
    """
    check_judges(plan)
    # A fresh run's requests must differ from all cached ones.
    mark = {}
    if plan.means.fresh:
        mark["fresh"] = plan.means.fresh
    models: dict[str, Mapping[str, str]] = {}
    missing: dict[str, str] = {}
    absent: dict[tuple[str, str], StoredIdentity] = {}

    def identify(role: str, model: Model) -> dict[str, str]:
        identity = find_identity(plan.store, model)
        remember_identity(plan.store, model, identity)
        if identity.reason:
            absent[role, model.name] = identity
        return {**identity.values, **mark}

    if replies:
        models = dict(replies.identities)
    else:
        for model in plan.models:
            try:
                models[model.name] = identify("model", model)
            except InputError as error:
                missing[model.name] = str(error)
    if missing and not models:
        raise InputError("\n".join(missing.values()))
    judges = {judge.name: identify("judge", judge) for judge in plan.judges}
    identities = Identities(models, join_identities(plan.suites, judges), missing, absent)
    if absent:
        identities = _require_stored(plan, identities, replies)
    for name, why in identities.missing.items():
        log_event("model_missing", level=logging.ERROR, model=name, why=why)
    return identities


def _require_stored(plan: Plan, identities: Identities, replies: HeldReplies | None) -> Identities:
    """Count absent models as missing where the run lacks a reply of theirs.

    Raises:
        InputError: no model is left, or a reply of an absent judge is lacking.
    """
    models, missing, absent = dict(identities.models), dict(identities.missing), dict(identities.absent)
    unstored = find_unstored(plan, identities, replies)
    for (role, name), text in unstored.items():
        del absent[role, name]
        if role == "model":
            del models[name]
            missing[name] = text
    if unstored and (not models or any(role == "judge" for role, _ in unstored)):
        raise InputError("\n".join(dict.fromkeys([*missing.values(), *unstored.values()])))
    return replace(identities, models=models, missing=missing, absent=absent)
