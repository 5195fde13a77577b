"""Sentences to cite, and sentences whose numbers are no citations."""

FACTS = {
    "en": """
The harbour of {name} was opened in {year} by the city council
{name} has about {big} inhabitants according to the last census
The bridge near {name} is {num} metres long and made of steel
Construction of the tower lasted {num} years and cost {big} pounds
The ship left {name} in {year} with {big} passengers on board
The team from {name} won the cup {num} times before the war
The river flows through {name} and reaches the sea after {big} miles of bends
The song was recorded by {name} in {year} for a small label
{name} discovered the comet in {year} with a small telescope
The museum holds {big} paintings from all over Europe
The law was passed in {year} after a long debate
The film was directed by {name} and shown at {num} festivals
The volcano erupted in {year} and destroyed the old village
The company employs {big} people in {num} countries around the world
The first edition of the book appeared in {year} under another title
Most of the island is covered by forest and hills
The railway connects {name} with the coast and the mountains
The population grew by {num}% during the following decade
""",
    "ru": """
Порт {name} был открыт в {year} году по решению города
В городе {name} живёт около {big} человек по последней переписи
Мост возле {name} имеет длину {num} метров и сделан из стали
Строительство башни длилось {num} лет и обошлось очень дорого
Корабль вышел из {name} в {year} году с пассажирами на борту
Команда из {name} выигрывала кубок {num} раз до войны
Река протекает через {name} и впадает в море
Песню записали в {year} году на небольшой студии
Комету открыли в {year} году с помощью малого телескопа
В музее хранится {big} картин со всей Европы
Закон приняли в {year} году после долгих споров
Фильм показали на {num} фестивалях по всему миру
Вулкан проснулся в {year} году и разрушил старую деревню
Компания нанимает {big} человек в разных странах мира
Первое издание книги вышло в {year} году под другим названием
Большая часть острова покрыта лесом и холмами
Железная дорога соединяет {name} с побережьем и горами
Население выросло на {num}% за следующие десять лет
""",
    "zh": """
{name}港于{year}年由市议会决定开放
根据上次人口普查{name}约有{big}名居民
{name}附近的大桥长{num}米由钢材建成
这座塔的建造历时{num}年耗资巨大
这艘船于{year}年载着乘客离开{name}
{name}队在战前曾{num}次夺得奖杯
这条河流经{name}最后注入大海
这首歌于{year}年在一家小录音室录制
人们在{year}年用小型望远镜发现了这颗彗星
博物馆收藏了来自欧洲各地的{big}幅画作
该法律在{year}年经过长时间辩论后通过
这部电影在{num}个电影节上放映
火山于{year}年喷发并摧毁了古老的村庄
该公司在世界各地雇用了{big}名员工
这本书的第一版于{year}年以另一书名出版
岛上大部分地区被森林和丘陵覆盖
铁路把{name}与海岸和山区连接起来
人口在随后的十年里增长了{num}%并趋于稳定
""",
}
NAMES = {
    "en": ("Bristol", "Leeds", "Halifax", "Dover", "Margaret Wells", "New Haven", "Port Alma", "Oslo"),
    "ru": ("Самара", "Выборг", "Тверь", "Архангельск", "Омск", "Псков"),
    "zh": ("青岛", "大连", "厦门", "宁波", "苏州", "重庆"),
}
# Prose that cites nothing: years, exponents, parts of works, lists, scores, names with numbers.
PROSE = {
    "en": """
The war lasted from {year} to {year} and ended in peace.
The battle ({year}) was short but decisive.
The field covers {num} km² and lies at 300 m above the sea.
The energy is E = mc² and the area is r² times pi.
Document 3 of the treaty was signed in {year}.
Article 5 of the treaty binds every member.
Chapter 2 tells of the early years.
World War 2 ended in 1945.
See Figure 2 and Table 1 for the numbers of {year}.
The team won 3-1 and then 2–0 in the final.
It has three parts: 1) the nave, 2) the choir and 3) the tower.
1. The nave was built first.\n2. The choir came later.\n3. The tower was last.
- First came the nave ({year}).\n- Then came the choir ({year}).
The rocket had a mass of 2.5 × 10³ kg.
The iPhone 12 appeared in 2020 (about 5 years ago).
According to Section 3 of the act, trade was free.
Source 2 is a game engine by Valve.
Passage of the bill took {num} days.
Apollo 11 landed in {year} [sic] on the Moon.
King Henry VIII (1491–1547) had six wives.
The number 7 is a prime, and so is 11.
The bus number 5 runs every {num} minutes.
About 1 in 3 people live there (33%).
The population was {big} (as of {year}).
H₂O and CO₂ are well known.
""",
    "ru": """
Война длилась с {year} по {year} год и кончилась миром.
Битва ({year}) была короткой.
Поле занимает {num} км² и лежит на высоте 300 м.
Энергия равна E = mc², а площадь — πr².
Документ 3 этого договора подписали в {year} году.
Статья 5 договора обязывает всех.
Глава 2 рассказывает о ранних годах.
Вторая мировая война кончилась в 1945 году.
См. рисунок 2 и таблицу 1.
Команда выиграла 3:1, а затем 2–0.
У неё три части: 1) неф, 2) хор и 3) башня.
1. Неф построили первым.\n2. Хор появился позже.\n3. Башня была последней.
- Сначала неф ({year}).\n- Потом хор ({year}).
Масса ракеты 2,5 × 10³ кг.
Согласно статье 3 закона, торговля была свободной.
Аполлон-11 прилетел в {year} году.
Генрих VIII (1491–1547) был женат шесть раз.
Число 7 простое, и 11 тоже.
Автобус № 5 ходит каждые {num} минут.
Примерно 1 из 3 жителей живёт там (33%).
Население — {big} человек (на {year} год).
""",
    "zh": """
战争从{year}年持续到{year}年。
这场战役（{year}年）很短。
这片田地占地{num}km²，海拔300米。
能量为E = mc²，面积为πr²。
该条约的第3号文件于{year}年签署。
条约第5条约束所有成员。
第2章讲述了早年的生活。
第二次世界大战于1945年结束。
见图2和表1。
球队以3:1获胜，随后又以2–0取胜。
它有三部分：1）中殿，2）唱诗席，3）塔楼。
1. 中殿最先建成。\n2. 唱诗席随后建成。\n3. 塔楼最后建成。
- 先是中殿（{year}年）。\n- 然后是唱诗席（{year}年）。
火箭质量为2.5 × 10³千克。
根据该法第3条，贸易是自由的。
阿波罗11号于{year}年登月。
亨利八世（1491–1547）有过六位妻子。
数字7是质数，11也是。
5路公交车每{num}分钟一班。
大约三分之一（33%）的人住在那里。
人口为{big}人（截至{year}年）。
""",
}
