"""Judges that decide: how typed questions are written on each wire, and their answers read.

An answer becomes `{"probabilities": [[label, probability], …]}` or `{"refusal": true}`, as
`metrics.deciding_judges` reads it: whether probabilities are sound is judged there, by the rules for unreadable
replies.
"""

import json
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any

from basic_control.data.characters import make_storable
from basic_control.data.records import Call, Reply
from basic_control.data.typed import TypedQuestion
from basic_control.tasks.models.openai_forms import Body, Chat
from basic_control.tasks.models.protocol import CallError
from basic_control.tasks.models.replies import find_token_count, read_reply
from basic_control.tasks.models.server_errors import ServerErrors

MAXIMUM_QUESTIONS = 100
"""Questions of one request, fewer than any server's limit."""
MAXIMUM_LEVELS = 10
"""Levels that System One's wire rates on: more are put as a choice."""
TOP = 20
"""Tokens whose probabilities a chat server is asked for: the most that OpenAI's gives."""

Pairs = list[tuple[Any, Any]]
Answers = list[str | CallError]
REFUSAL = json.dumps({"refusal": True})


@dataclass(frozen=True, slots=True)
class Answered:
    """The answers to the questions of one request, in their order, and its tokens."""

    answers: Answers
    tokens_in: int | None = None
    tokens_out: int | None = None


def _write(pairs: Pairs) -> str:
    """Return an answer's probabilities as the text of a reply."""
    return json.dumps({"probabilities": [(_clean_label(label), value) for label, value in pairs]})


def _clean_label(label: Any) -> Any:
    """Return a label that can be stored; what is no text is refused where the probabilities are read."""
    return make_storable(label) if isinstance(label, str) else label


def _write_yes(question: TypedQuestion, probability: Any) -> str:
    """Return the answer to a yes-or-no question from the probability of yes."""
    yes, no = question.labels
    complement = None
    if isinstance(probability, int | float) and not isinstance(probability, bool):
        complement = 1 - probability
    return _write([(yes, probability), (no, complement)])


class DecisionsWire:
    """OpenAI's decisions: predicates, choices and scores about one input, answered in their order.

    `yes` is the type of a yes-or-no question, and `holds_yes` where its answer has the probability of yes.
    """

    path = "/decisions"
    yes = "predicate"
    holds_yes = "probability"

    def body(self, state: str, questions: Sequence[TypedQuestion]) -> Body:
        """Return the input and the questions of a request."""
        written = [self._write_question(number, question) for number, question in enumerate(questions, 1)]
        return {"input": state, "questions": written}

    def _write_question(self, number: int, question: TypedQuestion) -> Body:
        body: Body = {"type": self.find_type(question), "name": f"q{number}", "instructions": question.instructions}
        if question.kind == "yes_no":
            return body
        key, name = ("label", "levels") if question.kind == "levels" else ("value", "choices")
        body[name] = labels = []
        for label, line in question.labels.items():
            # A label that says everything has no description.
            labels.append({key: label, "description": line} if line else {key: label})
        return body

    def find_type(self, question: TypedQuestion) -> str:
        """Return the type of a question on this wire."""
        return {"yes_no": self.yes, "choice": "choice", "levels": "score"}[question.kind]

    def read(self, body: Any, questions: Sequence[TypedQuestion]) -> Answered:
        """Read a response; an answer that lacks or is malformed is an error of its own question.

        Raises:
            KeyError, TypeError, AttributeError, ValueError: the form is wrong.
        """
        answers = self.list_answers(body["answers"], len(questions))
        answers_read: Answers = []
        for number, (answer, question) in enumerate(zip(answers, questions, strict=True), 1):
            try:
                answers_read.append(self._read_answer(answer, question, f"q{number}"))
            except (KeyError, TypeError, AttributeError, ValueError) as error:
                reason = f"answer {number} is missing or malformed: {error!r}"
                answers_read.append(CallError("server", reason))
        usage = body.get("usage")
        tokens_in, tokens_out = find_token_count(usage, "input_tokens"), find_token_count(usage, "output_tokens")
        return Answered(answers_read, tokens_in, tokens_out)

    def _read_answer(self, answer: Mapping[str, Any], question: TypedQuestion, name: str) -> str:
        kind, expected = answer["type"], self.find_type(question)
        if answer.get("name") not in {None, name}:
            raise ValueError("the answers are not in the questions' order")
        if kind == "refusal":
            return REFUSAL
        if kind != expected:
            raise ValueError(f"{kind} in place of {expected}")
        if kind == self.yes:
            return _write_yes(question, answer[self.holds_yes])
        return _write(self.list_pairs(answer["probabilities"], question))

    def list_answers(self, answers: Any, n: int) -> Sequence[Mapping[str, Any]]:
        """Return the answers to `n` questions in their order.

        Raises:
            TypeError, AttributeError, ValueError: the form is wrong.
        """
        if len(answers) != n:
            raise ValueError(f"{len(answers)} answers to {n} questions")
        return list(answers)

    def list_pairs(self, probabilities: Any, question: TypedQuestion) -> Pairs:
        """Return the labels of an answer, each with its probability."""
        key = "label" if question.kind == "levels" else "value"
        return [(entry[key], entry["probability"]) for entry in probabilities]


class SystemOneWire(DecisionsWire):
    """System One's wire: nouls, choices and scores about a state, answered by name."""

    path = "/systemone"
    yes = holds_yes = "noul"

    def body(self, state: str, questions: Sequence[TypedQuestion]) -> Body:
        """Return the state and the questions of a request."""
        written: Body = {}
        for number, question in enumerate(questions, 1):
            lines, kind = self._list_lines(question), self.find_type(question)
            body: Body = {"type": kind, "instructions": question.instructions}
            written[f"q{number}"] = body
            if kind == "choice":
                body["criteria"] = dict(zip(question.labels, lines, strict=True))
            if kind == "score":
                body["criteria"] = lines
        return {"state": json.loads(state), "questions": written}

    def _list_lines(self, question: TypedQuestion) -> list[str]:
        """Return what each label means in words: itself, if nothing is said about it."""
        return [line or label for label, line in question.labels.items()]

    def find_type(self, question: TypedQuestion) -> str:
        """Return the type of a question: of more levels than a score has, a choice."""
        if len(question.labels) > MAXIMUM_LEVELS:
            return "choice"
        return super().find_type(question)

    def list_answers(self, answers: Any, n: int) -> Sequence[Mapping[str, Any]]:
        """Return the answers to `n` questions in their order; see `Wire`."""
        return [answers.get(f"q{number}") for number in range(1, n + 1)]

    def list_pairs(self, probabilities: Any, question: TypedQuestion) -> Pairs:
        """Return the labels of an answer, each with its probability.

        Servers number levels from 0, or repeat what they were told.
        """
        if isinstance(probabilities, list):
            probabilities = {str(level): value for level, value in enumerate(probabilities)}
        if self.find_type(question) == "choice":
            return [*probabilities.items()]
        names = {str(number): label for number, label in enumerate(question.labels)}
        if probabilities.keys() != names.keys():
            names = dict(zip(self._list_lines(question), question.labels, strict=True))
        return [(names.get(name, name), value) for name, value in probabilities.items()]


def read_answers(
    content: bytes, wire: DecisionsWire, questions: Sequence[TypedQuestion], errors: ServerErrors
) -> Answered:
    """Read the body of a response.

    Raises:
        CallError: it is no response of this wire.
    """
    body = errors.parse(content)
    if isinstance(body, dict) and body.get("error"):
        raise errors.refusal(HTTPStatus.INTERNAL_SERVER_ERROR, {}, json.dumps(body))
    try:
        return wire.read(body, questions)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        text = f"{errors.where} sent no answers to its questions ({error!r}): {errors.quote(content)}"
        raise CallError("server", errors.clean(text)) from None


class Logprobs(Chat):
    """Chat completions of one token, whose alternatives come with their log probabilities."""

    holds = "choices with a message and its log probabilities"

    def read(self, body: Any) -> Reply:
        """Parse a chat completion; the reply's text is the tokens, the written one first.

        Raises:
            KeyError, IndexError, TypeError, AttributeError: the form is wrong.
            CallError: it says that no reply was made.
        """
        reply = super().read(body)
        logprobs = body["choices"][0].get("logprobs")
        # Many servers leave out what they do not know: they will with the next call too.
        if not logprobs:
            raise CallError(
                "parameter",
                "it sent no log probabilities, which `api: logprobs` needs; start the server with them, or use "
                "`api: chat`",
            )
        first = logprobs["content"][0]
        tokens = [(entry["token"], entry["logprob"]) for entry in (first, *first["top_logprobs"])]
        return replace(reply, text=json.dumps(tokens))


def ask_for_logprobs(call: Call) -> Call:
    """Return a call for the first token of a label and its alternatives."""
    parameters = {"temperature": 0.0, "max_tokens": 1, "logprobs": True, "top_logprobs": TOP, **call.parameters}
    return replace(call, parameters=parameters, schema=None)


def decide_by_tokens(reply: Reply, question: TypedQuestion) -> Reply:
    """Return the answer that a token and its alternatives give: the shares of the labels' first tokens.

    Raises:
        CallError: two labels begin with the same token.
    """
    written, *alternatives = json.loads(reply.text)
    # A label may begin with several tokens, such as "Yes" and " yes": their probabilities add up.
    sums = dict.fromkeys(question.labels, 0.0)
    for token, logprob in dict([written, *alternatives]).items():
        labels = _find_labels(token, question)
        if len(labels) > 1:
            raise CallError(
                "parameter",
                f"the labels {', '.join(labels)} begin with the same token, {token!r}, so that `api: logprobs` "
                "cannot tell them apart; use `api: chat`, or labels or a scale whose first tokens differ",
            )
        for label in labels:
            sums[label] += math.exp(min(0.0, logprob))
    total = math.fsum(sums.values())
    # A model that writes something else has not answered, whatever it thinks of the labels.
    if not total or not _find_labels(written[0], question):
        return replace(reply, text=_write([(written[0], 1.0)]), finish_reason="stop")
    return replace(reply, text=_write([(label, sums[label] / total) for label in sums]), finish_reason="stop")


def _find_labels(token: str, question: TypedQuestion) -> list[str]:
    """Return the labels that begin with a token, whatever its case and the space before it."""
    start = token.strip().casefold()
    return [label for label in question.labels if start and label.casefold().startswith(start)]


PutQuestions = Callable[[str, Sequence[TypedQuestion]], Awaitable[Answered]]
"""Puts questions about a state in one request."""


async def put_together(calls: Sequence[Call], put_questions: PutQuestions) -> list[Reply | CallError]:
    """Put typed questions about one text, by way of `put_questions`, at most a hundred a request.

    The tokens of a request are shared out among its questions, what is over to the first.

    Raises:
        CallError: a request failed.
    """
    ends: list[Reply | CallError] = []
    # An answer that is missing or malformed ends its own question alone.
    for start in range(0, len(calls), MAXIMUM_QUESTIONS):
        part = calls[start : start + MAXIMUM_QUESTIONS]
        questions = [call.typed for call in part if call.typed is not None]
        if len(questions) < len(part):
            raise CallError("invalid", "this judge only answers typed questions, and was sent a prompt")
        answered = await put_questions(part[0].messages[0].content, questions)
        for position, answer in enumerate(answered.answers):
            if isinstance(answer, str):
                tokens_in = _share(answered.tokens_in, position, len(part))
                tokens_out = _share(answered.tokens_out, position, len(part))
                reply = read_reply("", finish_reason="stop", tokens_in=tokens_in, tokens_out=tokens_out)
                ends.append(replace(reply, text=answer))
            else:
                ends.append(answer)
    return ends


def _share(tokens: int | None, position: int, n: int) -> int | None:
    """Return the tokens of one of n questions."""
    if tokens is None:
        return None
    share, over = divmod(tokens, n)
    if position == 0:
        return share + over
    return share


async def put_alone(call: Call, put_questions: PutQuestions) -> Reply:
    """Put one typed question.

    Raises:
        CallError: it was not answered.
    """
    (end,) = await put_together([call], put_questions)
    if isinstance(end, CallError):
        raise end
    return end
