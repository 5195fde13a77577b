"""Measure the street's work with other harnesses, in turn with ours: GSM8K-sized, 200 ms a reply, 64 in flight.

Run `python -m tests.benchmarks.peers BIN [ROUNDS]`, where BIN is the folder of commands of an environment that has
`lm-eval[api]`, `inspect-ai` and `openai`. Each harness asks the same loopback server the same problems and scores
the final number, first without and then with its own cache of replies; medians over the rounds are printed.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.street import ANSWER, IN_FLIGHT, LATENCY_S, PROMPTS, Cost, evaluate, problems
from tests.servers.running import serve_openai

LM_EVAL = """\
task: street
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: "{{{{answer.split('####')[-1].strip()}}}}"
generation_kwargs: {{until: [], max_gen_toks: 256, temperature: 0}}
filter_list:
  - name: number
    filter: [{{function: regex, regex_pattern: "#### (-?[0-9.,]+)"}}, {{function: take_first}}]
metric_list: [{{metric: exact_match, aggregation: mean, higher_is_better: true}}]
"""
INSPECT = """\
from inspect_ai import Task, task
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.scorer import match
from inspect_ai.solver import generate


@task
def street():
    def sample(row):
        return Sample(input=row["question"], target=row["answer"].split("####")[-1].strip())

    return Task(json_dataset({data!r}, sample), solver=generate(cache=True), scorer=match(numeric=True))
"""


def spent(command: list[str], folder: Path, environment: dict[str, str]) -> Cost:
    """Run a command in a folder to its end; return what it took, with all that it started."""
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(said.read()[-3000:])
    return Cost(time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000)


def commands(folder: Path, bins: Path, address: str) -> dict[str, list[str]]:
    """Write what each harness needs into a folder; return its command."""
    data = problems(folder)
    (folder / "street.yaml").write_text(LM_EVAL.format(data=data), encoding="utf-8")
    (folder / "street_task.py").write_text(INSPECT.format(data=str(data)), encoding="utf-8")
    model = f"model=m,base_url={address}/chat/completions,num_concurrent={IN_FLIGHT},tokenized_requests=False"
    return {
        "lm-evaluation-harness": [
            *[
                str(bins / "lm_eval"),
                "--model",
                "local-chat-completions",
                "--model_args",
                model,
                "--tasks",
                "street",
            ],
            *["--include_path", str(folder), "--apply_chat_template", "--use_cache", str(folder / "lm_cache")],
            *["--output_path", str(folder / "lm_out"), "--log_samples"],
        ],
        "Inspect": [
            *[str(bins / "inspect"), "eval", "street_task.py", "--model", "openai/m"],
            *["--model-base-url", address, "--max-connections", str(IN_FLIGHT), "--display", "plain"],
            *["--log-dir", str(folder / "inspect_logs")],
        ],
    }


def main() -> None:
    """Print what each harness took, cold and from its cache."""
    bins, rounds = Path(sys.argv[1]).absolute(), int(sys.argv[2]) if len(sys.argv) > 2 else 3
    limit = PROMPTS * LATENCY_S / IN_FLIGHT
    costs: dict[tuple[str, str], list[Cost]] = {}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as name, serve_openai(ANSWER, latency_s=LATENCY_S, apart=True) as model:
            folder = Path(name)
            environment = {**os.environ, "OPENAI_API_KEY": "unused", "PREFECT_HOME": f"{name}/prefect"}
            environment |= {"HF_HUB_OFFLINE": "1", "HF_HOME": f"{name}/hf", "XDG_CACHE_HOME": f"{name}/cache"}
            peers = commands(folder, bins, model.base_url)
            one = {"name": "m", "provider": "openai", "base_url": model.base_url, "max_concurrency": IN_FLIGHT}
            sets = [f"models=[{json.dumps(one)}]", "cot.sample_method=all", f"cot.data={folder}/problems.jsonl"]
            sets += [f"store.root={name}/store", f"store.runs={name}/runs"]
            for state in ("cold", "cached"):
                ours = evaluate([word for each in sets for word in ("--set", each)], environment)
                costs.setdefault((state, "Basic Control"), []).append(ours)
                for peer, command in peers.items():
                    costs.setdefault((state, peer), []).append(spent(command, folder, environment))
    for (state, harness), found in costs.items():
        wall, cpu, peak = (statistics.median(each) for each in zip(*found, strict=True))
        print(f"{state} {harness}: {wall:.1f} s = {wall / limit:.2f} x the limit, CPU {cpu:.1f} s, "
              f"largest process {peak:.0f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
