"""Public data sets that `basic-control fetch` downloads: addresses, hashes, and where they are kept."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from data.commands import typed
from data.errors import InputError

_RAW = "https://raw.githubusercontent.com"
_GSM8K = "openai/grade-school-math/3101c7d5072418e28b9008a6636bde82a006892c/grade_school_math/data"
_MGSM = "google-research/url-nlp/452a21ad3dae5668c06ceeac21ff073e1e40f9be/mgsm"
_NQ_PASSAGES = "nelson-liu/lost-in-the-middle/29b8a6d042ce29abccee3db1a73171a107d7e6af/qa_data"
_NQ = "google-research-datasets/natural-questions/fb26a3073b1fe636c97302890a27b491d6530130/nq_open"
_BEGIN = "google/BEGIN-dataset/6e65f0d5a1ed1b9574643a7640ff1678d4e979b5/wow"
_WICE_COMMIT = "ryokamoi/wice/94d6188c19f051ee6b7978205938186e328767ca"
_WICE = f"{_WICE_COMMIT}/code_and_resources/entailment_inputs/oracle_chunks/claim"
_LLMBAR = "princeton-nlp/LLMBar/caa7bee794bfed74baed038b99229fa3f0c4c511/Dataset/LLMBar"
_LIDIRUS = "RussianNLP/RussianSuperGLUE/f051afc272527ab39c1ad64515d736d6e8c7824b/HumanBenchmark/LiDiRus"
_PROCESSBENCH = "https://huggingface.co/datasets/Qwen/ProcessBench/resolve/main"


SAMPLES = Path(__file__).parent / "samples"
"""The data that ships."""


@dataclass(frozen=True, slots=True)
class PublicFile:
    """A public file: its address, pinned to a commit; its SHA-256 and size in bytes; its licence.

    `blob` is git's id of the file (SHA-1 over `blob <length>`, a zero byte and the content): the check of a
    download whose SHA-256 is not known. Where neither is (`size` 0), a file counts by its rows, which its reader
    checks: `rows` of them.
    """

    url: str
    sha256: str
    size: int
    licence: str
    blob: str = ""
    rows: int = 0

    @property
    def suffix(self) -> str:
        """The file name's ending, which says its form."""
        path = Path(self.url)
        return Path(path.stem).suffix + path.suffix if path.suffix == ".gz" else path.suffix


SOURCES: Mapping[str, PublicFile] = {
    "gsm8k": PublicFile(
        f"{_RAW}/{_GSM8K}/test.jsonl",
        "3730d312f6e3440559ace48831e51066acaca737f6eabec99bccb9e4b3c39d14", 749_738, "MIT",
    ),
    "gsm8k_train": PublicFile(
        f"{_RAW}/{_GSM8K}/train.jsonl",
        "17f347dc51477c50d4efb83959dbb7c56297aba886e5544ee2aaed3024813465", 4_166_206, "MIT",
    ),
    "mgsm_en": PublicFile(
        f"{_RAW}/{_MGSM}/mgsm_en.tsv",
        "50021d0f28cc957edcb44e7806425b1c7fbd648ddcb9e0a8ec689d10e57d40fa", 61_299, "CC BY 4.0",
    ),
    "mgsm_ru": PublicFile(
        f"{_RAW}/{_MGSM}/mgsm_ru.tsv",
        "6bd30fd2e80c5bac23f566fb4ae0e6a55a19578401fbf9a01fb21beb3645fef8", 110_953, "CC BY 4.0",
    ),
    "mgsm_zh": PublicFile(
        f"{_RAW}/{_MGSM}/mgsm_zh.tsv",
        "b2fa63151022370a0de1f4211c8c284eae74b0f5a3b003b1d5982c0d4a73f661", 57_838, "CC BY 4.0",
    ),
    "nq": PublicFile(
        f"{_RAW}/{_NQ_PASSAGES}/10_total_documents/nq-open-10_total_documents_gold_at_0.jsonl.gz",
        "", 7_801_797, "MIT; text CC BY-SA 3.0", blob="eff71009ef7056aae77733d6ee8cf4614f63756e",
    ),
    "nq_oracle": PublicFile(
        f"{_RAW}/{_NQ_PASSAGES}/nq-open-oracle.jsonl.gz",
        "6a7f72b846f663a133ef952244e5a4e43f06bcf190afe34e8fbe687ce0d1653e", 900_334, "MIT; text CC BY-SA 3.0",
    ),
    "nq_open": PublicFile(
        f"{_RAW}/{_NQ}/NQ-open.dev.jsonl",
        "f15567f38099f3615f5b8a685c0aef449c11ad90d3da3735e8d1b98115b40616", 391_316, "CC BY-SA 3.0",
    ),
    "begin_dev": PublicFile(
        f"{_RAW}/{_BEGIN}/begin_dev_wow.tsv",
        "2ebfc95a1ff267e12dcce3250da4d158e1811c62e9e1a0d56f110efc9ace0178", 147_417, "CC BY 4.0",
    ),
    "begin_test": PublicFile(
        f"{_RAW}/{_BEGIN}/begin_test_wow.tsv",
        "d5c106a42042c3abd481563f1157e07c95c107dbcdf67f23564d874e8a4d6e7e", 1_241_097, "CC BY 4.0",
    ),
    "wice_dev": PublicFile(
        f"{_RAW}/{_WICE}/dev.jsonl",
        "ae33170930d690cb96cd46f097ec5658daaf7fd6700d6d2bf97644e3a8dfb2f9", 2_058_627, "ODC-BY; text CC BY-SA",
    ),
    "wice_test": PublicFile(
        f"{_RAW}/{_WICE}/test.jsonl",
        "234bb8c2ca4511ca078e49e07c895a2db61a581d03237e7e1ecb7c48c8510a3e", 2_098_277, "ODC-BY; text CC BY-SA",
    ),
    "llmbar_natural": PublicFile(
        f"{_RAW}/{_LLMBAR}/Natural/dataset.json",
        "f7127b7aa78104cb8e03a2b1b3ac0077e95b125714dd441a8ee63666145a3375", 91_269, "MIT",
    ),
    "llmbar_manual": PublicFile(
        f"{_RAW}/{_LLMBAR}/Adversarial/Manual/dataset.json",
        "0d9598769a39cdbbd265778c37e49939d41d5f76dcfb17bd75dcfa07516d3837", 79_050, "MIT",
    ),
    "llmbar_neighbor": PublicFile(
        f"{_RAW}/{_LLMBAR}/Adversarial/Neighbor/dataset.json",
        "6712c7eda6342602e0bc7c06c282fa95e2110d4e741a284026a62d937f9780a0", 131_988, "MIT",
    ),
    "llmbar_gptinst": PublicFile(
        f"{_RAW}/{_LLMBAR}/Adversarial/GPTInst/dataset.json",
        "1002425f73c2cf54b6e6de99bce3f6c60fa2a17d13194772e37d7481c1351d42", 211_768, "MIT",
    ),
    "llmbar_gptout": PublicFile(
        f"{_RAW}/{_LLMBAR}/Adversarial/GPTOut/dataset.json",
        "1ff56e520d7607750a9866a3be0f5b850392ca4477a1f69d80f32bd3e310f561", 32_640, "MIT",
    ),
    "lidirus": PublicFile(
        f"{_RAW}/{_LIDIRUS}/assign_LiDiRus.tsv",
        "553a2c5388324fc26e6304b71aca619254693c8fc5197840186c93b0c80905e7", 2_364_755, "MIT",
    ),
    "processbench_gsm8k": PublicFile(f"{_PROCESSBENCH}/gsm8k.json", "", 0, "Apache 2.0", rows=400),
}  # fmt: skip
GROUPS: Mapping[str, tuple[str, ...]] = {
    "mgsm": ("mgsm_en", "mgsm_ru", "mgsm_zh"),
    "begin": ("begin_dev", "begin_test"),
    "wice": ("wice_dev", "wice_test"),
    "processbench": ("processbench_gsm8k",),
    "llmbar": ("llmbar_natural", "llmbar_manual", "llmbar_neighbor", "llmbar_gptinst", "llmbar_gptout"),
}
"""Names that stand for several files."""


def folder() -> Path:
    """Return the data folder: $BASIC_CONTROL_DATA, or basic-control in the user's data folder."""
    if named := os.environ.get("BASIC_CONTROL_DATA"):
        return Path(named)
    return platformdirs.user_data_path("basic-control", appauthor=False)


def local_path(name: str) -> Path:
    """Return where the file of a public data set is kept."""
    return folder() / f"{name}{SOURCES[name].suffix}"


def locate(source: str | Path) -> Path:
    """Return the file of a data set: a fetched one by its name, any other by its path.

    Raises:
        InputError: there is no such file; the message says how to get it.
    """
    name = str(source)
    path = local_path(name) if name in SOURCES else Path(source)
    if path.is_file():
        return path
    if name in SOURCES:
        raise InputError(f"data set {name!r} has not been fetched to {path}. Run: {typed(f'fetch {name}')}")
    if name in GROUPS:
        raise InputError(f"{name!r} is several data sets; name one of {', '.join(GROUPS[name])}.")
    known = ", ".join(("sample", *SOURCES))
    raise InputError(f"{path}: no such file. Give a file, or one of {known}.")


def given_file(source: str, sample: Path) -> Path:
    """Return the file that a data set comes from: the shipped sample, a fetched one, or the user's."""
    if source == "sample":
        return sample
    return local_path(source) if source in SOURCES else Path(source)


def name_of(source: str) -> str:
    """Return a data set's name for the column `family`."""
    return source if source == "sample" else Path(source).name.partition(".")[0]
