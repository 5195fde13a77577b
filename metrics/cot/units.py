"""Units of measure and counting words that a calculation may pass between: `2 hours + 10 = 130`."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from metrics.cot.expressions import Token

_MEASURES: tuple[tuple[tuple[Fraction | int, str], ...], ...] = (
    (  # time, in seconds
        (1, "s sec secs second seconds с сек секунда секунды секунд секунду 秒 秒钟"),
        (60, "min mins minute minutes мин минута минуты минут минуту 分钟 分"),
        (3600, "h hr hrs hour hours ч час часа часов 小时 个小时 钟头"),
        (86400, "day days день дня дней сутки суток 天 日"),
        (604800, "week weeks неделя недели недель неделю 周 星期 个星期"),
    ),
    (  # longer times, in months
        (1, "month months месяц месяца месяцев 个月 月"),
        (12, "year years yr yrs год года лет 年"),
        (120, "decade decades"),
    ),
    ((1, "day days день дня дней 天"), (30, "month months месяц месяцев 个月"), (365, "year years год лет 年")),
    ((1, "week weeks недель недели неделя 周"), (4, "month months месяц 个月"), (52, "year years год лет 年")),
    (  # lengths, in tenths of a millimetre
        (10, "mm millimeter millimeters мм миллиметр миллиметра миллиметров 毫米"),
        (100, "cm centimeter centimeters centimetres см сантиметр сантиметра сантиметров 厘米"),
        (1000, "dm decimeters дм дециметр дециметра дециметров 分米"),
        (10**4, "m meter meters metre metres м метр метра метров 米"),
        (10**7, "km kilometer kilometers kilometres км километр километра километров 千米 公里"),
    ),
    (
        (254, "in inch inches"),
        (3048, "ft foot feet"),
        (9144, "yd yard yards"),
        (16093440, "mi mile miles"),
    ),
    (  # masses, in milligrams
        (1, "mg milligram milligrams мг"),
        (1000, "g gram grams г грамм грамма граммов 克"),
        (10**6, "kg kilo kilos kilogram kilograms кг килограмм килограмма килограммов 千克 公斤"),
        (10**9, "t ton tons tonne tonnes т тонна тонны тонн 吨"),
        (500_000, "斤"),
    ),
    ((1, "oz ounce ounces"), (16, "lb lbs pound pounds"), (32_000, "ton tons")),
    (
        (1, "ml milliliter milliliters millilitres мл миллилитр миллилитра миллилитров 毫升"),
        (1000, "l liter liters litre litres л литр литра литров 升"),
    ),
    ((1, "oz ounce ounces"), (8, "cup cups"), (16, "pint pints"), (32, "quart quarts"), (128, "gallon gallons")),
    (
        (1, "cent cents penny pennies ¢ цент цента центы центов 美分"),
        (5, "nickel nickels"), (10, "dime dimes"), (25, "quarter quarters"),
        (100, "dollar dollars buck bucks доллар доллара доллары долларов 美元"),
    ),
    ((1, "pence p"), (100, "pound pounds")),
    ((1, "коп копейка копейки копеек"), (100, "р руб рубль рубля рублей")),
    ((1, "分 分钱"), (10, "角"), (100, "元 块 块钱")),
    (
        (1, ""), (2, "pair pairs couple couples пара пары пар 双 对"), (12, "dozen dozens дюжина дюжины дюжин 打"),
        (20, "score"), (100, "hundred hundreds сотня сотни сотен 百"),
        (1000, "k thousand thousands тыс тысяча тысячи тысяч 千"), (10**4, "万"),
        (10**6, "million millions млн миллион миллиона миллионов"), (10**8, "亿"),
        (10**9, "billion billions млрд миллиард миллиарда миллиардов"),
    ),
)  # fmt: skip

_DIMENSIONS: tuple[Mapping[str, int], ...] = tuple(
    {word: int(size) for size, words in measure for word in words.split()} for measure in _MEASURES
)
_SIZES: tuple[frozenset[int], ...] = tuple(frozenset(int(size) for size, _ in measure) for measure in _MEASURES)
_ALL = frozenset().union(*_DIMENSIONS)
LETTERS = frozenset("mghslLt")
"""Latin letters that are a unit where a space parts them from the number: `5 m`."""


def unit(word: str) -> str:
    """Return the unit that a word after a number is; the empty string if it is none that can be changed."""
    lowered = word.lower()
    if lowered in _ALL:
        return lowered
    if lowered and lowered[0] >= "\u2e80":  # Chinese goes on without a space: 小时后
        for length in (3, 2, 1):
            if lowered[:length] in _ALL:
                return lowered[:length]
    return ""


def scales(units: frozenset[str]) -> Iterator[Mapping[str, Fraction]]:
    """Yield what each of these units is in one and the same unit, for every unit that most may be changed to."""
    most = max(len(units & dimension.keys()) for dimension in _DIMENSIONS)
    for dimension, sizes in zip(_DIMENSIONS, _SIZES, strict=True):
        shared = units & dimension.keys()
        if shared and len(shared) == most:
            for size in sorted(sizes):
                yield {word: Fraction(dimension[word], size) for word in shared}


def tenfold(sizes: Mapping[str, Fraction]) -> bool:
    """Say whether one unit of measure becomes another one, ten, a hundred … times as large or as small."""
    if len(sizes) != 1:
        return False
    ((word, size),) = sizes.items()
    fewer, more = sorted((size.numerator, size.denominator))
    return word not in _DIMENSIONS[-1] and fewer == 1 and str(more).rstrip("0") == "1"


_AND = frozenset({"and", "и", "又", "零"})


def joined(found: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens with each quantity in two units as a sum in brackets: `1 hour 15 minutes`.

    The brackets are marked, so that they can be told from written ones.
    """
    kinds = [token.kind for token in found]
    if kinds.count("word") <= 1 or kinds.count("number") <= 1:
        return found
    made: list[Token] = []
    at = 0
    while at < len(found):
        length = _compound(found, at) if found[at].kind == "number" else 0
        if not length:
            made.append(found[at])
            at += 1
            continue
        first, last = found[at], found[at + length - 1]
        number = found[at + length - 2]
        made += [
            Token("open", "(", first.start, first.start, mark="+"),
            *found[at : at + 2],
            Token("operator", "+", number.start, number.start),
            number,
            last,
            Token("close", ")", last.end, last.end, mark="+"),
        ]
        at += length
    return made


def _compound(found: Sequence[Token], at: int) -> int:
    """Return how many tokens from `at` on are one quantity in two units, the second less than one of the first."""
    length = 5 if at + 2 < len(found) and found[at + 2].text in _AND else 4
    parts = [*found[at : at + 2], *found[at + length - 2 : at + length]]
    if [token.kind for token in parts] != ["number", "word", "number", "word"]:
        return 0
    large, small, value = unit(parts[1].text), unit(parts[3].text), parts[2].value
    sizes = (d for d in _DIMENSIONS[:-1] if large in d and small in d)
    return length if value is not None and any(value * d[small] < d[large] for d in sizes) else 0
