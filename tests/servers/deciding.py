"""Servers of judges that decide: OpenAI's decisions by the package's own types, System One's wire, and logprobs."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from openai.types.decision import Decision
from openai.types.decision_create_params import DecisionCreateParams
from pydantic import TypeAdapter

Decide = Callable[[str, str, list[str]], Mapping[str, float] | None]
"""The probabilities of labels for a state and a question's instructions; None: it declines."""
PARAMETERS = TypeAdapter(DecisionCreateParams)


@dataclass
class DecidingServer:
    """What the server is told, and the bodies of the requests that it has seen.

    `spoil` changes a good body before it is sent; `status` is that of every response.
    """

    decide: Decide
    spoil: Callable[[dict[str, Any]], Any] = lambda body: body
    status: int = 200
    bodies: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)

    @property
    def questions(self) -> int:
        """The questions that were put so far."""
        return sum(len(body.get("questions", "1")) for body in self.bodies)

    def build(self) -> web.Application:
        """Return the application."""
        app = web.Application()
        for path in ("/v1/decisions", "/openai/decisions", "/openai/deployments/{deployment}/decisions"):
            app.router.add_post(path, self._answer(self._decisions))
        app.router.add_post("/v1/systemone", self._answer(self._systemone))
        app.router.add_post("/v1/chat/completions", self._answer(self._chat))
        app.router.add_get("/v1/models", self._list)
        return app

    async def _list(self, _request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": []})

    def _answer(self, write: Callable[[dict[str, Any]], dict[str, Any]]) -> Any:
        async def answer(request: web.Request) -> web.Response:
            body = await request.json()
            self.bodies.append(body)
            self.paths.append(request.path)
            if self.status != 200:
                refusal = {"error": {"message": "This model is not a decision model", "code": self.status}}
                return web.json_response(refusal, status=self.status)
            return web.json_response(self.spoil(write(body)))

        return answer

    def _decisions(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer by the package's types, which refuse what they do not know."""
        PARAMETERS.validate_python(body)
        asked = body["questions"]
        answers = [{"name": question["name"], **self._answer_to(body["input"], question)} for question in asked]
        details = {"input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0}}
        usage = {"input_tokens": 101, "output_tokens": 2, "total_tokens": 103, **details}
        usage["output_tokens_details"] = {"reasoning_tokens": 0}
        written = {"answers": answers, "model": body["model"], "usage": usage}
        return Decision.model_validate(written).model_dump(mode="json")

    def _answer_to(self, state: str, question: dict[str, Any]) -> dict[str, Any]:
        kind, instructions = question["type"], question["instructions"]
        if kind == "predicate":
            shares = self.decide(state, instructions, ["yes", "no"])
            return {"type": "refusal"} if shares is None else {"type": kind, "probability": shares["yes"]}
        key, options = ("label", "levels") if kind == "score" else ("value", "choices")
        labels = [option[key] for option in question[options]]
        shares = self.decide(state, instructions, labels)
        if shares is None:
            return {"type": "refusal"}
        entries = [{key: label, "probability": shares[label], "number": n} for n, label in enumerate(labels)]
        confidence = max(shares.values())
        if kind == "choice":
            best = max(labels, key=shares.__getitem__)
            choices = [{"value": entry["value"], "probability": entry["probability"]} for entry in entries]
            return {"type": kind, "choice": best, "confidence": confidence, "probabilities": choices}
        levels = [
            {"label": entry["label"], "probability": entry["probability"], "value": entry["number"]}
            for entry in entries
        ]
        mean = sum(entry["value"] * entry["probability"] for entry in levels)
        return {"type": kind, "score": mean, "confidence": confidence, "probabilities": levels}

    def _systemone(self, body: dict[str, Any]) -> dict[str, Any]:
        state, answers = json.dumps(body["state"], ensure_ascii=False), {}
        for name, question in body["questions"].items():
            kind, criteria = question["type"], question.get("criteria", {})
            if kind == "noul":
                shares = self.decide(state, question["instructions"], ["yes", "no"])
                answers[name] = {"type": kind, "noul": shares["yes"]} if shares else {"type": "refusal"}
                continue
            shares = self.decide(state, question["instructions"], [*criteria])
            named = dict(shares or {})
            if kind == "score" and shares:
                named = {str(n): named[level] for n, level in enumerate(criteria)}
            answers[name] = {"type": kind, "probabilities": named} if shares else {"type": "refusal"}
        return {
            "model": body.get("model", ""),
            "answers": answers,
            "usage": {"input_tokens": 7, "output_tokens": 0},
        }

    def _chat(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer with one token: the first three letters of the most probable label, and those of the others."""
        prompt = body["messages"][-1]["content"]
        labels = prompt.rpartition(":")[2].strip().split(", ")
        shares = self.decide(prompt, prompt, labels) or {"I": 1.0}
        tokens = [(label[:3], math.log(max(share, 1e-9))) for label, share in shares.items()]
        tokens.sort(key=lambda token: -token[1])
        entries = [{"token": token, "logprob": logprob, "bytes": []} for token, logprob in tokens]
        content = [{**entries[0], "top_logprobs": entries}]
        message = {"role": "assistant", "content": tokens[0][0]}
        choice = {"index": 0, "message": message, "finish_reason": "length", "logprobs": {"content": content}}
        return {"choices": [choice], "usage": {"prompt_tokens": 50, "completion_tokens": 1, "total_tokens": 51}}
