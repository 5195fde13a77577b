"""What the sample's word problems say: the question, then the steps of its solution, in each language.

`{n}` is a number, `{n|egg eggs}` a number and its noun in the form that agrees (English: one, other; Russian:
one, few, many); `{who}` and `{other}` are names.
"""

from collections.abc import Mapping

TEXTS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "boxes": {
        "en": (
            (
                "{who} fills {a|box boxes} with {b|candle candles} each and sells {sold|candle candles} at "
                "the fair. How many candles does {who} have left?"
            ),
            "The boxes hold {a} * {b} = <<{a}*{b}={all}>>{all|candle candles}.",
            "After the fair {all} - {sold} = <<{all}-{sold}={answer}>>{answer|candle candles} are left.",
        ),
        "ru": (
            (
                "{who} раскладывает свечи: {a|коробка коробки коробок}, в каждой {b|свеча свечи свечей}. "
                "Число проданных на ярмарке свечей — {sold}. Сколько свечей осталось?"
            ),
            "Всего в коробках {a} * {b} = <<{a}*{b}={all}>>{all|свеча свечи свечей}.",
            ("После ярмарки осталось {all} - {sold} = <<{all}-{sold}={answer}>>{answer|свеча свечи свечей}."),
        ),
    },
    "wages": {
        "en": (
            (
                "{who} works {h} hours at ${r} an hour and gets ${tips} in tips. How many dollars does {who} "
                "earn in all?"
            ),
            "The work brings {h} * {r} = $<<{h}*{r}={pay}>>{pay}.",
            "With the tips that makes {pay} + {tips} = $<<{pay}+{tips}={answer}>>{answer}.",
        ),
        "ru": (
            (
                "{who} работает {h|час часа часов}, за час платят {r|доллар доллара долларов}, а чаевых "
                "набралось {tips|доллар доллара долларов}. Сколько долларов выходит всего?"
            ),
            "За работу платят {h} * {r} = <<{h}*{r}={pay}>>{pay|доллар доллара долларов}.",
            ("С чаевыми выходит {pay} + {tips} = <<{pay}+{tips}={answer}>>{answer|доллар доллара долларов}."),
        ),
    },
    "savings": {
        "en": (
            (
                "A bicycle costs ${price}. {who} already has ${have} and saves ${week} every week. After how "
                "many weeks can {who} buy the bicycle?"
            ),
            "{who} still needs {price} - {have} = $<<{price}-{have}={rest}>>{rest}.",
            "That takes {rest} / {week} = <<{rest}/{week}={answer}>>{answer|week weeks}.",
        ),
        "ru": (
            (
                "Велосипед стоит {price|доллар доллара долларов}. {who} уже имеет {have|доллар доллара "
                "долларов} и каждую неделю откладывает ещё {week|доллар доллара долларов}. Через сколько "
                "недель денег хватит?"
            ),
            "Не хватает {price} - {have} = <<{price}-{have}={rest}>>{rest|доллар доллара долларов}.",
            "На это уйдёт {rest} / {week} = <<{rest}/{week}={answer}>>{answer|неделя недели недель}.",
        ),
    },
    "discount": {
        "en": (
            ("A lamp costs ${price}. In the sale its price falls by {p}%. How many dollars does it cost then?"),
            "The discount is {price} * {p} / 100 = $<<{price}*{p}/100={off}>>{off}.",
            "In the sale the lamp costs {price} - {off} = $<<{price}-{off}={answer}>>{answer}.",
        ),
        "ru": (
            (
                "Лампа стоит {price|доллар доллара долларов}. На распродаже цена падает на {p}%. Сколько "
                "долларов она стоит теперь?"
            ),
            "Скидка равна {price} * {p} / 100 = <<{price}*{p}/100={off}>>{off|доллар доллара долларов}.",
            ("Теперь лампа стоит {price} - {off} = <<{price}-{off}={answer}>>{answer|доллар доллара долларов}."),
        ),
    },
    "berries": {
        "en": (
            (
                "{who} picks {n} plums. {other} picks twice as many, and their aunt picks half as many as "
                "{who}. How many plums do they pick together?"
            ),
            "{other} picks {n} * 2 = <<{n}*2={double}>>{double} plums.",
            "The aunt picks {n} / 2 = <<{n}/2={half}>>{half} plums.",
            "Together they pick {n} + {double} + {half} = <<{n}+{double}+{half}={answer}>>{answer} plums.",
        ),
        "ru": (
            (
                "{who} собирает {n|слива сливы слив}. {other} собирает вдвое больше, а их тётя — половину "
                "того, что собирает {who}. Сколько слив они собирают вместе?"
            ),
            "{other} собирает {n} * 2 = <<{n}*2={double}>>{double|слива сливы слив}.",
            "Тётя собирает {n} / 2 = <<{n}/2={half}>>{half|слива сливы слив}.",
            ("Вместе выходит {n} + {double} + {half} = <<{n}+{double}+{half}={answer}>>{answer|слива сливы слив}."),
        ),
    },
    "share": {
        "en": (
            (
                "There are {all} walnuts in a bowl. The squirrel takes {eaten} of them, and {people} friends "
                "share the rest evenly. How many walnuts does each friend get?"
            ),
            "The squirrel leaves {all} - {eaten} = <<{all}-{eaten}={left}>>{left|walnut walnuts}.",
            "Each friend gets {left} / {people} = <<{left}/{people}={answer}>>{answer|walnut walnuts}.",
        ),
        "ru": (
            (
                "В миске {all|орех ореха орехов}. Белка уносит {eaten|орех ореха орехов}, а остальное "
                "поровну делят друзья, которых {people}. Сколько орехов получает каждый?"
            ),
            "После белки остаётся {all} - {eaten} = <<{all}-{eaten}={left}>>{left|орех ореха орехов}.",
            "Каждый получает {left} / {people} = <<{left}/{people}={answer}>>{answer|орех ореха орехов}.",
        ),
    },
    "trip": {
        "en": (
            (
                "{who} rides a train for {t} hours at {v} km an hour and then a bicycle for {u} hours at {w} "
                "km an hour. How many kilometres is the whole trip?"
            ),
            "The train covers {t} * {v} = <<{t}*{v}={one}>>{one} km.",
            "The bicycle covers {u} * {w} = <<{u}*{w}={two}>>{two} km.",
            "The whole trip is {one} + {two} = <<{one}+{two}={answer}>>{answer} km.",
        ),
        "ru": (
            (
                "{who} едет на поезде {t|час часа часов} со скоростью {v} км/ч, а потом на велосипеде {u|час "
                "часа часов} со скоростью {w} км/ч. Сколько километров весь путь?"
            ),
            "Поезд проходит {t} * {v} = <<{t}*{v}={one}>>{one} км.",
            "Велосипед проходит {u} * {w} = <<{u}*{w}={two}>>{two} км.",
            "Весь путь равен {one} + {two} = <<{one}+{two}={answer}>>{answer} км.",
        ),
    },
    "rows": {
        "en": (
            (
                "A gardener plants {rows} rows of {each} tulips. Frost kills {dead|tulip tulips}, and the "
                "gardener adds {new} more. How many tulips grow in the garden?"
            ),
            "First there are {rows} * {each} = <<{rows}*{each}={all}>>{all} tulips.",
            "The frost leaves {all} - {dead} = <<{all}-{dead}={alive}>>{alive|tulip tulips}.",
            "With the new ones there are {alive} + {new} = <<{alive}+{new}={answer}>>{answer} tulips.",
        ),
        "ru": (
            (
                "Садовник сажает тюльпаны: {rows|ряд ряда рядов}, в каждом {each|тюльпан тюльпана "
                "тюльпанов}. Мороз губит {dead|тюльпан тюльпана тюльпанов}, и садовник сажает ещё "
                "{new|тюльпан тюльпана тюльпанов}. Сколько тюльпанов растёт в саду?"
            ),
            "Сначала посажено {rows} * {each} = <<{rows}*{each}={all}>>{all|тюльпан тюльпана тюльпанов}.",
            ("После мороза живо {all} - {dead} = <<{all}-{dead}={alive}>>{alive|тюльпан тюльпана тюльпанов}."),
            (
                "Вместе с новыми растёт {alive} + {new} = <<{alive}+{new}={answer}>>{answer|тюльпан тюльпана "
                "тюльпанов}."
            ),
        ),
    },
    "ages": {
        "en": (
            (
                "{who} is {n} years old, and {other} is three times as old. What will their ages add up to "
                "in {k} years?"
            ),
            "{other} is {n} * 3 = <<{n}*3={old}>>{old} years old.",
            "Then {who} will be {n} + {k} = <<{n}+{k}={young_then}>>{young_then}.",
            "And {other} will be {old} + {k} = <<{old}+{k}={old_then}>>{old_then}.",
            (
                "Their ages add up to {young_then} + {old_then} = "
                "<<{young_then}+{old_then}={answer}>>{answer|year years}."
            ),
        ),
        "ru": (
            (
                "{who}: возраст {n|год года лет}. {other}: возраст втрое больше. Сколько лет им будет вместе "
                "через {k|год года лет}?"
            ),
            "{other}: сейчас {n} * 3 = <<{n}*3={old}>>{old|год года лет}.",
            "{who}: будет {n} + {k} = <<{n}+{k}={young_then}>>{young_then|год года лет}.",
            "{other}: будет {old} + {k} = <<{old}+{k}={old_then}>>{old_then|год года лет}.",
            (
                "Вместе им будет {young_then} + {old_then} = <<{young_then}+{old_then}={answer}>>{answer|год "
                "года лет}."
            ),
        ),
    },
    "third": {
        "en": (
            (
                "A school has {n} pupils. A third of them come by bus and a quarter by bicycle; the others "
                "walk. How many pupils walk?"
            ),
            "By bus come {n} / 3 = <<{n}/3={third}>>{third} pupils.",
            "By bicycle come {n} / 4 = <<{n}/4={quarter}>>{quarter} pupils.",
            "Together these are {third} + {quarter} = <<{third}+{quarter}={some}>>{some} pupils.",
            "So {n} - {some} = <<{n}-{some}={answer}>>{answer} pupils walk.",
        ),
        "ru": (
            (
                "В школе {n|ученик ученика учеников}. Треть из них ездит на автобусе, четверть — на "
                "велосипеде, остальные ходят пешком. Сколько учеников ходит пешком?"
            ),
            "На автобусе ездит {n} / 3 = <<{n}/3={third}>>{third|ученик ученика учеников}.",
            "На велосипеде ездит {n} / 4 = <<{n}/4={quarter}>>{quarter|ученик ученика учеников}.",
            "Вместе это {third} + {quarter} = <<{third}+{quarter}={some}>>{some|ученик ученика учеников}.",
            "Пешком ходит {n} - {some} = <<{n}-{some}={answer}>>{answer|ученик ученика учеников}.",
        ),
    },
    "dozens": {
        "en": (
            ("A café buys {k} dozen eggs and uses {a_day} eggs a day for {days} days. How many eggs are left?"),
            "The café buys {k} * 12 = <<{k}*12={all}>>{all} eggs.",
            "It uses {days} * {a_day} = <<{days}*{a_day}={used}>>{used} eggs.",
            "That leaves {all} - {used} = <<{all}-{used}={answer}>>{answer|egg eggs}.",
        ),
        "ru": (
            (
                "Кафе покупает яйца дюжинами, всего дюжин {k}. В день уходит {a_day|яйцо яйца яиц}, и так "
                "{days|день дня дней}. Сколько яиц остаётся?"
            ),
            "Кафе покупает {k} * 12 = <<{k}*12={all}>>{all|яйцо яйца яиц}.",
            "Уходит {days} * {a_day} = <<{days}*{a_day}={used}>>{used|яйцо яйца яиц}.",
            "Остаётся {all} - {used} = <<{all}-{used}={answer}>>{answer|яйцо яйца яиц}.",
        ),
    },
    "recipe": {
        "en": (
            (
                "A soup for {s} people needs {g} grams of lentils. {who} cooks for {all} people and has "
                "{have} grams at home. How many grams of lentils must {who} buy?"
            ),
            "One person needs {g} / {s} = <<{g}/{s}={each}>>{each} grams.",
            "All of them need {all} * {each} = <<{all}*{each}={need}>>{need} grams.",
            "{who} must buy {need} - {have} = <<{need}-{have}={answer}>>{answer|gram grams}.",
        ),
        "ru": (
            (
                "На суп для {s} человек нужно {g|грамм грамма граммов} чечевицы. {who} готовит на {all} "
                "человек, а дома есть {have|грамм грамма граммов}. Сколько граммов чечевицы нужно купить?"
            ),
            "На одного нужно {g} / {s} = <<{g}/{s}={each}>>{each|грамм грамма граммов}.",
            "На всех нужно {all} * {each} = <<{all}*{each}={need}>>{need|грамм грамма граммов}.",
            "Купить нужно {need} - {have} = <<{need}-{have}={answer}>>{answer|грамм грамма граммов}.",
        ),
    },
    "change": {
        "en": (
            (
                "{who} buys {a} notebooks at ${p} each and {b} pens at ${q} each and pays with ${note}. How "
                "many dollars of change does {who} get?"
            ),
            "The notebooks cost {a} * {p} = $<<{a}*{p}={one}>>{one}.",
            "The pens cost {b} * {q} = $<<{b}*{q}={two}>>{two}.",
            "Together that is {one} + {two} = $<<{one}+{two}={sum}>>{sum}.",
            "The change is {note} - {sum} = $<<{note}-{sum}={answer}>>{answer}.",
        ),
        "ru": (
            (
                "{who} покупает тетради и ручки: {a|тетрадь тетради тетрадей} по {p} $ и {b|ручка ручки "
                "ручек} по {q} $. В кассу отдано {note} $. Сколько долларов сдачи?"
            ),
            "Тетради стоят {a} * {p} = <<{a}*{p}={one}>>{one|доллар доллара долларов}.",
            "Ручки стоят {b} * {q} = <<{b}*{q}={two}>>{two|доллар доллара долларов}.",
            "Вместе это {one} + {two} = <<{one}+{two}={sum}>>{sum|доллар доллара долларов}.",
            "Сдача равна {note} - {sum} = <<{note}-{sum}={answer}>>{answer|доллар доллара долларов}.",
        ),
    },
    "tank": {
        "en": (
            (
                "A tank holds {there} litres of water. A pipe adds {i} litres a minute while {o} litres a "
                "minute leak out. How many litres are in the tank after {m} minutes?"
            ),
            "Each minute the tank gains {i} - {o} = <<{i}-{o}={net}>>{net} litres.",
            "In {m} minutes it gains {m} * {net} = <<{m}*{net}={gain}>>{gain} litres.",
            "Then it holds {there} + {gain} = <<{there}+{gain}={answer}>>{answer} litres.",
        ),
        "ru": (
            (
                "В баке {there|литр литра литров} воды. За минуту по трубе приходит {i|литр литра литров}, а "
                "вытекает {o|литр литра литров}. Сколько литров воды в баке через {m|минута минуты минут}?"
            ),
            "За минуту в баке прибавляется {i} - {o} = <<{i}-{o}={net}>>{net|литр литра литров}.",
            "За всё время прибавится {m} * {net} = <<{m}*{net}={gain}>>{gain|литр литра литров}.",
            "В баке станет {there} + {gain} = <<{there}+{gain}={answer}>>{answer|литр литра литров}.",
        ),
    },
}
