"""The innocuous lines, by kind and language; numbers in braces are drawn in known relations."""

COMMON = r"""
proportion | {a}/{b} = {ac}/x
proportion | x/{b} = {ac}/{bc}
proportion | \[ \frac{{{a}}}{{{b}}} = \frac{{x}}{{{bc}}} \]
proportion | {ratio} = {ratio2}
proportion | {a}/{b} = {ac}/{bc}
unknown | x + {b} = {s}
unknown | 2x + {b} = {x2b}
unknown | {c} * x = {bc}
unknown | \( 2x + {b} = {x2b} \)
unknown | x = {s} - {b} = {a}
unknown | {a}n = {ab}
unknown | \[ x = \frac{{{ab}}}{{{a}}} = {b} \]
unknown | 2x = {x2b} - {b}
unknown | y = {c}x, x = {b}
unknown | n + {c} + n = 2n + {c}
unknown | S = a * b = {a} * {b} = {ab}
powers | {a}^2 = {sq}
powers | {a}² = {sq}
powers | {a}**2 = {sq}
powers | {a}³ = {cube}
powers | \( {a}^2 + {b} = {sq} + {b} \)
rounding | {n} / {d} = {dots2} ≈ {two}
rounding | {n} / {d} = {dots}
rounding | {n} ÷ {d} ≈ {two}
rounding | {n} / {d} ≈ {one}
rounding | {n} / {d} = {two}
rounding | {n}/{d} = {six}
rounding | \( \frac{{{n}}}{{{d}}} \approx {two} \)
rounding | \[ {n} \div {d} \approx {near} \]
rounding | {n} / {d} ~ {near}
rounding | {n} / {d} = {whole} {left}/{d}
inequality | {a} * {b} > {c}
inequality | {a} + {b} ≠ {ab}0
inequality | {a} < {s} and {b} < {s}
inequality | {s}0 ≥ {a} + {b}
percent | {base} - {p}% = {less}
percent | {base} + {p}% = {more}
percent | {base} * {p}% = {cut}
percent | {base} × (1 - {p}%) = {less}
percent | 100% - {p}% = {rest}%
percent | {p}% = {p}/100 = {pdec}
percent | \( {base} \times {p}\% = {cut} \)
percent | \[ {base} \times \left(1 - \frac{{{p}}}{{100}}\right) = {less} \]
percent | {share} / {of} = {part}%
percent | {share} / {of} * 100 = {part}%
percent | ({share} / {of}) × 100% = {part}%
percent | {share} / {of} × 100 = {part}
percent | \[ \frac{{{share}}}{{{of}}} \times 100\% = {part}\% \]
fractions | 1/2 + 1/4 = 3/4
fractions | 1 - 1/4 = 3/4
fractions | {q} * 3/4 = {q34}
fractions | 3/4 × {q} = {q34}
fractions | {q} × ½ = {q2}
fractions | ¼ × {q} = {q4}
fractions | {q} ÷ 4 = {q4}
fractions | \[ \frac{{3}}{{4}} \times {q} = {q34} \]
fractions | \( \frac{{1}}{{2}} \cdot {q} = {q2} \)
fractions | \[ {q} \cdot \dfrac{{3}}{{4}} = \dfrac{{3 \cdot {q}}}{{4}} = {q34} \]
fractions | 2 1/2 * 4 = 10
fractions | 1 1/2 + 2 1/2 = 4
implicit | {c}({a} + {b}) = {sc}
implicit | ({a})({b}) = {ab}
implicit | ({a} + {b}){c} = {sc}
implicit | \( {c}({a}+{b}) \): \[ {c} \times {s} = {sc} \]
brackets | [({a} + {b}) * {c}] = {sc}
brackets | (({a} + {b}) × {c}) = {sc}
brackets | {{{a} + {b}}} × {c} = {sc}
several | {a} * {b} = {ab}, {ab} + {c} = {g}
several | {a} * {b} = {ab}; {a} + {b} = {s}
several | {a} + {b} = {s} → {s} * {c} = {sc}
several | {a} + {b} = {s} => {s} * {c} = {sc}
several | {ab} + {c} = ({a} * {b}) + {c} = {g}
reversed | {ab} = {a} * {b}
reversed | {g} = {a} * {b} + {c}
years | {yy} - {y} = {a}
dates | 2024-05-12 / 12.05.2024 / 05/12/2024
phone | +1 555-123-4567, 8 (800) 555-35-35, 400-820-8820
ratio | {ratio}
ranges | {a}-{s}, {b}–{k}
negative | {start} - {fall} = {neg}
negative | {start} − {fall} = −{b}000
checks | {a} × {b} = {ab} ✓, {a} + {b} = {s} ✔
latex | \begin{{align*}} {a} + {b} &= {s} \\ {s} \times {c} &= {sc} \end{{align*}}
latex | $${a} \times {b} + {c} = {ab} + {c} = {g}$$
latex | \[ {a} \cdot \left( {b} \right) = {ab} \]
latex | \[ \therefore {a} + {b} = {s} \]
latex | \[ {a} \, \times \, {b} \; = \; {ab} \quad \]
latex | \( {a} + {b} = \mathbf{{{s}}} \)
latex | \[ \underbrace{{{a} + {b}}}_{{\text{{sum}}}} = {s} \]
"""

ENGLISH = r"""
proportion | {a} apples / {b} days = {ac} apples / x days
proportion | {a} seconds / {b} feet = {ac} seconds / x feet
proportion | The ratio of boys to girls is {ratio}, which is the same as {ratio2}.
proportion | If {a} pens cost ${b}, then {ac} pens cost ${bc}: {a}:{b} = {ac}:{bc}.
unknown | {s} - {b} = 2 * Sally's books
unknown | Let x be the number of apples. Then x + {b} = {s}, so x = {a}.
unknown | Let J = Tom's age and 3 * J = Ann's age.
unknown | Total = price * quantity
unknown | {b} + the number of red marbles = {s}
unknown | Tom's age + {b} = {s}
unknown | Total cost = cost of the pens + cost of the books = {a} + {b} = {s}
unknown | Distance = speed × time
units | {h} hours = {m} minutes
units | 1 hour = 60 minutes, so {h} hours = {m} minutes.
units | {h} kg = {kg} g
units | {h} feet * 12 = {ft} inches
units | {h} dozen = {dz} eggs
units | {h} * 12 = {ft} inches = {h} feet
units | {h} hours + 15 minutes = {hm} minutes
units | 12 * 1 = 12 inches = 1 foot
units | ${a} = {cents} cents
units | 45 minutes + 30 minutes = 1 hour 15 minutes
units | 4 * 50 cents = $2
units | {a} * 100 cents = {cents} cents = ${a}
units | {m} minutes / 60 = {h} hours
units | 3 * 20 minutes = 60 minutes = 1 hour
units | 2 weeks * 7 days/week = 14 days
ranges | Read pages {a}-{s} and {b}-{k}, about 10-15 minutes each.
ranges | The years 2010-2015 are 5-6 years.
dates | The date is 12/05/2024, or 2024-05-12.
phone | Call 555-123-4567 or +1 (555) 123-4567.
negative | After 6 days the balance would be {neg}
negative | That would be {start} - {fall} = {neg}, so she is in debt.
rounding | {n} / {d} = {dots2}, which rounds to {two}.
rounding | {n} / {d} = {dots}, so we round up to {up}.
rounding | {n} / {d} is about {near}
rounding | {n} divided by {d} is {whole} with a remainder of {left}.
rounding | {n} ÷ {d} = {whole} remainder {left}
percent | ${big} - {p}% = ${bigless}
percent | ${big} + {p}% = ${more}
percent | {part}% of {of} = {share}
percent | {part}% of {of} is {share}
percent | {p}% of ${big} = ${cut}
percent | {p}% off ${base} = ${less}
percent | {p}% discount: ${base} - ${cut} = ${less}
percent | a {p}% discount on ${base} = ${cut}
fractions | 3/4 of {q} = {q34}
fractions | half of {q} = {q2}
fractions | 1/4 of the {q} pupils = {q4}
fractions | One fourth of {q} is {q4}.
fractions | a quarter of {q} = {q}/4 = {q4}
words | {a} times {b} = {ab}
words | {a} times {b} equals {ab}
words | {a} plus {b} is {s}
words | {a} multiplied by {b} = {ab}
words | twice {a} = {x2}
words | {a} squared is {sq}
words | {ab} divided by {b} = {a}
words | {a} more than {b} = {a} + {b} = {s}
words | twice as many as {a}, 2 * {a} = {x2}
words | the sum of {a} and {b} = {s}
words | the product of {a} and {b} = {ab}
times | 9:00 am + 3 hours = 12:00 pm
times | From 2:00 pm to {late}:30 pm
times | 8:30 AM + 2 hours = 10:30 AM
prices | {a} @ ${b} = ${ab}
prices | {a} x ${b} = ${ab}
prices | ${b} x {a} = ${ab}
prices | {a} pens at ${b} each = ${ab}
prices | {a} pens @ ${b} each: {a} × ${b} = ${ab}
prices | ${b}/pen × {a} pens = ${ab}
prices | {a} tickets * $ {b} = $ {ab}
prices | ${a} per hour * {b} hours = ${ab}
prices | {ab} miles / {b} hours = {a} mph
prices | {ab} miles / {b} hours = {a} miles/hour
prices | {a} miles per hour × {b} hours = {ab} miles
notes | (Note: {a} * {b} = {ab} only if no pen is lost.)
notes | Day 1: {a} + {b} = {s}
notes | Question 2: {c} groups of {b}
notes | Total: {a} (red) + {b} (blue) = {s}
notes | {a} boxes (of {b} pens) = {ab} pens
notes | {a} adults and {b} children = {s} people
notes | {a} red + {b} blue = {s} marbles
notes | We have a 24/7 service, rated 9/10.
words | {e} - {b} = {ea} apples left
"""

RUSSIAN = r"""
proportion | {a} яблок / {b} дней = {ac} яблок / x дней
proportion | Составим пропорцию: {a} / {b} = {ac} / x
proportion | Отношение {ratio} равно {ratio2}.
proportion | {a} : {b} = {ac} : {bc}
unknown | Пусть x — количество яблок. Тогда x + {b} = {s}, x = {a}.
unknown | {s} - {b} = 2 * книги Саши
unknown | Возраст Тома + {b} = {s}
unknown | Стоимость = цена × количество
unknown | Путь = скорость · время
unknown | {c} * х = {bc}
unknown | Общая стоимость = стоимость ручек + стоимость книг = {a} + {b} = {s}
units | {h} часа = {m} минут
units | 1 час = 60 минут, значит {h} ч = {m} мин.
units | {h} кг = {kg} г
units | {h} м = {h}00 см
units | {h} ч 15 мин = {hm} мин
units | {h} ч + 15 мин = {hm} мин
units | {m} мин / 60 = {h} ч
units | 3 * 20 мин = 60 мин = 1 час
units | {a} руб. = {cents} коп.
units | 2 недели * 7 дней = 14 дней
units | {h} дюжин = {dz} яиц
units | {h} * 1000 = {kg} г = {h} кг
ranges | Прочтите страницы {a}-{s} и {b}–{k}, по 10-15 минут.
ranges | В 2010–2015 гг. прошло 5-6 лет.
dates | Дата: 12.05.2024 или 2024-05-12.
phone | Телефон: 8 (800) 555-35-35 или +7 912 345-67-89.
negative | Через 6 дней на счету было бы {neg}
negative | Тогда баланс: {start} - {fall} = {neg} руб.
rounding | {n} / {d} = {dots2}, округляем до {two}.
rounding | {n} : {d} ≈ {two}
rounding | {n} / {d} = {whole} (остаток {left})
rounding | {n} : {d} = {whole} (ост. {left})
rounding | {n} / {d} — примерно {near}
percent | {base} руб. - {p}% = {less} руб.
percent | {base} ₽ + {p}% = {more} ₽
percent | {part}% от {of} = {share}
percent | {part} % от {of} — это {share}
percent | {p}% от {base} руб. = {cut} руб.
percent | скидка {p}%: {base} - {cut} = {less}
percent | {base} · {p} / 100 = {cut}
percent | {base} : 100 · {p} = {cut}
fractions | 3/4 от {q} = {q34}
fractions | половина от {q} = {q2}
fractions | четверть от {q} — это {q4}
fractions | {q} : 4 · 3 = {q34}
fractions | {q} · 0,5 = {q2}
fractions | {q} × 0,25 = {q4}
fractions | 2,5 · 4 = 10
words | {a} умножить на {b} = {ab}
words | {a} плюс {b} равно {s}
words | {a} раз по {b} = {ab}
words | дважды {a} = {x2}
words | {ab} разделить на {b} = {a}
words | сумма {a} и {b} = {s}
words | вдвое больше, чем {a}: 2 * {a} = {x2}
words | {a} в квадрате — {sq}
times | 9:00 + 3 часа = 12:00
times | С 14:00 до {late}:30
times | 8:30 + 2 ч = 10:30
colon | {ab} : {b} = {a}
colon | {ab} : {b} = {a} (руб.)
colon | 1) {ab} : {b} = {a} (шт.)
colon | ({g} - {c}) : {b} = {a}
prices | {a} × {b} руб. = {ab} руб.
prices | {a} шт. × {b} руб. = {ab} руб.
prices | {a} ручек по {b} руб. = {ab} руб.
prices | {b} руб./кг × {a} кг = {ab} руб.
prices | {ab} км / {b} ч = {a} км/ч
prices | {a} км/ч · {b} ч = {ab} км
prices | {a} тыс. руб. × {b} = {ab} тыс. руб.
notes | 1) {a} + {b} = {s} (ябл.) — всего.
notes | 2) {a} · {b} = {ab} (р.) — стоимость.
notes | День 1: {a} + {b} = {s}
notes | Всего: {a} (красных) + {b} (синих) = {s}
notes | {a} взрослых и {b} детей = {s} человек
notes | {a} красных + {b} синих = {s} шаров
notes | №3 - пример, 5-й класс, 2-я задача
notes | т.е. {a} + {b} = {s} шт.
"""

CHINESE = r"""
proportion | {a}个苹果 / {b}天 = {ac}个苹果 / x天
proportion | 设比例：{a}/{b} = {ac}/x
proportion | 男女比例为{ratio}，即{ratio2}。
proportion | {a}：{b} = {ac}：{bc}
unknown | 设苹果数为x，则 x + {b} = {s}，解得 x = {a}。
unknown | {s} - {b} = 2 × 小红的书
unknown | 小明的年龄 + {b} = {s}
unknown | 总价 = 单价 × 数量
unknown | 路程＝速度×时间
unknown | 总费用 = 笔的费用 + 书的费用 = {a} + {b} = {s}
units | {h}小时 = {m}分钟
units | 1小时=60分钟，所以{h}小时={m}分钟。
units | {h}千克 = {kg}克
units | {h}小时15分钟 = {hm}分钟
units | {h}小时 + 15分钟 = {hm}分钟
units | {m}分钟 ÷ 60 = {h}小时
units | 3 × 20分钟 = 60分钟 = 1小时
units | {a}元 = {a}0角 = {cents}分
units | 2周 × 7天 = 14天
units | {h}打 = {dz}个
units | {h}公里 = {kg}米
wan | {wan}万 × 2 = {wan2}万
wan | {wan}万元 + {wan}万元 = {wan2}万元
wan | 1.5万元 × 2 = 3万元
wan | 2万 - 5000 = 15000
ranges | 阅读第{a}-{s}页和第{b}–{k}页，各需10-15分钟。
ranges | 2010-2015年间过了5~6年。
dates | 日期是2024年5月12日，即2024-05-12。
phone | 电话：400-820-8820，138-0013-8000。
negative | 6天后余额将是{neg}
negative | 那么余额为{start} - {fall} = {neg}元。
rounding | {n} ÷ {d} = {dots2}，四舍五入得{two}。
rounding | {n} ÷ {d} ≈ {two}
rounding | {n} ÷ {d} = {whole}……{left}
rounding | {n} ÷ {d} = {whole}余{left}
rounding | {n} ÷ {d} 约等于 {near}
percent | {base}元 - {p}% = {less}元
percent | {base}元×{p}%={cut}元
percent | {of}的{part}% = {share}
percent | {of}的{part}%是{share}
percent | {base}×（1-{p}%）={less}
percent | {share}÷{of}×100%={part}%
fractions | {q}的3/4 = {q34}
fractions | {q}的一半是{q2}
fractions | {q}的四分之一 = {q4}
fractions | {q}×1/4={q4}
fractions | {q}的1/4是{q4}
words | {a}乘以{b}等于{ab}
words | {a}乘以{b} = {ab}
words | {a}加{b}等于{s}
words | {a}的2倍 = {x2}
words | {ab}除以{b}等于{a}
words | {a}与{b}的和 = {s}
words | {a}的平方是{sq}
times | 9:00 + 3小时 = 12:00
times | 从下午2:00到{late}:30
times | 8:30 + 2小时 = 10:30
prices | {a}支×{b}元/支={ab}元
prices | {a} × {b}元 = {ab}元
prices | {a}支笔，每支{b}元，共{ab}元
prices | {ab}公里÷{b}小时={a}公里/小时
prices | {a}公里/小时 × {b}小时 = {ab}公里
prices | {a}×{b}={ab}（元）
prices | （{a}+{b}）×{c}={sc}（个）
prices | ￥{b} × {a} = ￥{ab}
prices | {a}*{b}={ab}元，{ab}+{c}={g}元
notes | 第1天：{a} + {b} = {s}
notes | 共有：{a}（红）+ {b}（蓝）= {s}
notes | {a}个大人和{b}个孩子 = {s}人
notes | {a}个红球 + {b}个蓝球 = {s}个球
notes | 解：{a}＋{b}＝{s}
notes | 由{a}+{b}={s}可知，{s}×{c}={sc}。
"""

LINES = {"en": ENGLISH, "ru": RUSSIAN, "zh": CHINESE}
