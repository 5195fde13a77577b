"""The grammar of e-mails, memos, notes and notices in which entities stand: people, scenarios, sentences.

`{e}` is an entity, `{x}` a distractor; of a person: `{n}` nominative, `{d}` dative, `{i}` instrumental (Russian),
`{a}` the ending of a verb in the past. Every opening and closing has a run of eight words without an entity, by
which an echo of the text is known.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Person:
    """A person: full name in the cases that the sentences use, given name, verb ending, name in Latin letters."""

    n: str
    d: str
    i: str
    given: str
    a: str
    latin: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Scenario:
    """What a text is about: its subject line, openings, and sentences that hold a date."""

    name: str
    subject: str
    openings: tuple[str, ...]
    dates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Language:
    """All that a text in one language is drawn from."""

    people: tuple[Person, ...]
    scenarios: tuple[Scenario, ...]
    emails: tuple[str, ...]
    phones: tuple[str, ...]
    closings: tuple[str, ...]
    again: dict[str, str]
    distractors: tuple[tuple[str, tuple[str, ...]], ...]
    forms: tuple[str, ...]
    signs: tuple[str, ...]


def _english() -> tuple[Person, ...]:
    given = (
        "Anna", "Brian", "Clara", "David", "Emma", "Frank", "Grace", "Henry", "Irene", "James",
        "Karen", "Louis", "Megan", "Nigel", "Olive", "Peter", "Rachel", "Simon", "Tessa", "Victor",
    )  # fmt: skip
    family = (
        "Abbott", "Barlow", "Carter", "Dawson", "Ellery", "Foster", "Gibson", "Harper", "Ingram", "Keller",
        "Larkin", "Mercer", "Norton", "Osborn", "Parker", "Quincy", "Rowley", "Sutton", "Turner", "Walton",
    )  # fmt: skip
    return tuple(
        Person(f"{g} {f}", f"{g} {f}", f"{g} {f}", g, "", (g.lower(), f.lower())) for g in given for f in family
    )


# Nominative, dative, instrumental, Latin letters. None begins with С and a consonant: 'с' would become 'со'.
_WOMEN = (
    ("Анна", "Анне", "Анной", "anna"), ("Ольга", "Ольге", "Ольгой", "olga"),
    ("Марина", "Марине", "Мариной", "marina"), ("Ирина", "Ирине", "Ириной", "irina"),
    ("Елена", "Елене", "Еленой", "elena"), ("Наталья", "Наталье", "Натальей", "natalya"),
    ("Юлия", "Юлии", "Юлией", "yulia"), ("Вера", "Вере", "Верой", "vera"),
    ("Дарья", "Дарье", "Дарьей", "darya"), ("Полина", "Полине", "Полиной", "polina"),
    ("Галина", "Галине", "Галиной", "galina"), ("Тамара", "Тамаре", "Тамарой", "tamara"),
)  # fmt: skip
_MEN = (
    ("Иван", "Ивану", "Иваном", "ivan"), ("Пётр", "Петру", "Петром", "petr"),
    ("Андрей", "Андрею", "Андреем", "andrey"), ("Игорь", "Игорю", "Игорем", "igor"),
    ("Олег", "Олегу", "Олегом", "oleg"), ("Никита", "Никите", "Никитой", "nikita"),
    ("Виктор", "Виктору", "Виктором", "viktor"), ("Максим", "Максиму", "Максимом", "maxim"),
    ("Роман", "Роману", "Романом", "roman"), ("Кирилл", "Кириллу", "Кириллом", "kirill"),
    ("Павел", "Павлу", "Павлом", "pavel"), ("Илья", "Илье", "Ильёй", "ilya"),
)  # fmt: skip
_FAMILIES = (
    ("Соколов", "sokolov"), ("Кузнецов", "kuznetsov"), ("Морозов", "morozov"), ("Лебедев", "lebedev"),
    ("Никитин", "nikitin"), ("Фомин", "fomin"), ("Беляев", "belyaev"), ("Тарасов", "tarasov"),
    ("Громов", "gromov"), ("Зайцев", "zaytsev"), ("Ильин", "ilyin"), ("Орлов", "orlov"),
)  # fmt: skip


def _russian() -> tuple[Person, ...]:
    women = (
        Person(f"{n} {f}а", f"{d} {f}ой", f"{i} {f}ой", n, "а", (latin, f"{family}a"))
        for n, d, i, latin in _WOMEN
        for f, family in _FAMILIES
    )
    men = (
        Person(f"{n} {f}", f"{d} {f}у", f"{i} {f}ым", n, "", (latin, family))
        for n, d, i, latin in _MEN
        for f, family in _FAMILIES
    )
    return (*women, *men)


_EN_SCENARIOS = (
    Scenario(
        "delivery", "Your bookcase order",
        ("Thank you for ordering the oak bookcase from our workshop last week.",
         "We are glad to say that your new bookcase has now left our workshop."),
        ("The bookcase will reach you on {e}.", "The van has been booked for {e}, weather permitting.",
         "The shelves were varnished on {e}.", "Returns are possible until {e} if it does not fit."),
    ),
    Scenario(
        "conference", "The autumn conference",
        ("The programme of the autumn conference on urban trees is nearly complete.",
         "We have now found a hall for our small conference on urban trees."),
        ("The conference opens on {e}.", "Abstracts are due by {e} at the latest.",
         "Speakers will hear from us by {e}.", "The early fee ends on {e}, as it did last time."),
    ),
    Scenario(
        "hiring", "The post in the archive",
        ("We are looking for someone to help two days a week in the archive.",
         "The post of assistant in the town archive is now open to all comers."),
        ("Applications close on {e}.", "Interviews will be held on {e} in the reading room.",
         "The contract starts on {e}.", "The last assistant left us on {e}."),
    ),
    Scenario(
        "flat", "Two rooms near the river",
        ("There is a quiet flat with two rooms and a balcony near the river to let.",
         "Our flat by the river is looking for tenants who like old houses."),
        ("The flat is free from {e}.", "Viewings begin on {e}.", "The boiler was last serviced on {e}.",
         "The present lease runs out on {e}."),
    ),
    Scenario(
        "clinic", "Your check-up",
        ("This is a short reminder about the check-up that you asked us to arrange.",
         "The results of your blood test have come back and look quite normal."),
        ("Your next visit is set for {e}.", "The sample was taken on {e}.",
         "The prescription stays valid until {e}.", "Dr Hale is away from {e} for a fortnight."),
    ),
    Scenario(
        "school_trip", "The trip to the caves",
        ("Class seven is going to visit the salt caves with two of its teachers.",
         "We are planning a trip to the salt caves for all of class seven."),
        ("The coach leaves on {e}.", "Consent forms must be back by {e}.",
         "Parents can meet the teachers on {e}.", "A second group will follow on {e} if enough pupils sign up."),
    ),
    Scenario(
        "library", "Your loans",
        ("Three of the books that you borrowed from our branch are now overdue.",
         "Our branch will close for some weeks while the roof is being mended."),
        ("The books were due back on {e}.", "The branch opens again on {e}.",
         "Your card has to be renewed by {e}.", "The new catalogue goes live on {e}."),
    ),
    Scenario(
        "repair", "The lift in house nine",
        ("The lift in house nine has been out of order since the storm last week.",
         "Our engineers have now looked at the lift in house nine from top to bottom."),
        ("The spare part is expected on {e}.", "The last inspection took place on {e}.",
         "Work should be over by {e}.", "The warranty ended on {e}, unfortunately."),
    ),
    Scenario(
        "travel", "Your journey to the coast",
        ("Here are the papers for your journey to the coast with our agency.",
         "We have changed the hotel on your journey to the coast for a better one."),
        ("Your train leaves on {e}.", "The hotel expects you on {e}.", "You can cancel free of charge until {e}.",
         "The return journey is on {e}."),
    ),
    Scenario(
        "choir", "The spring concert",
        ("The choir has found a fine old church for its concert this spring.",
         "Rehearsals for the spring concert are going well and the scores are here."),
        ("The concert will take place on {e}.", "The first full rehearsal is on {e}.",
         "Tickets go on sale on {e}.", "Scores must be handed back by {e}."),
    ),
    Scenario(
        "museum", "The loan of the globe",
        ("The museum would like to borrow your old globe for a show about maps.",
         "Our show about early maps is taking shape and needs one more piece."),
        ("The show opens on {e}.", "The globe would be collected on {e}.",
         "The insurance covers it until {e}.", "The loan was first discussed on {e}."),
    ),
    Scenario(
        "survey", "The survey of the meadow",
        ("The survey of the wet meadow behind the mill is about to begin.",
         "A group of volunteers has counted the orchids on the wet meadow again."),
        ("The first count was made on {e}.", "Volunteers gather on {e}.",
         "The report has to be sent in by {e}.", "Mowing is forbidden before {e}."),
    ),
)  # fmt: skip

_RU_SCENARIOS = (
    Scenario(
        "delivery", "Ваш заказ на книжный шкаф",
        ("Спасибо, что заказали в нашей мастерской дубовый книжный шкаф со стеклянными дверцами.",
         "Рады сообщить, что ваш новый книжный шкаф уже покинул нашу мастерскую."),
        ("Шкаф привезут {e} в первой половине дня.", "Машина заказана на {e}, если позволит погода.",
         "Полки покрыли лаком {e}, они уже высохли.", "Вернуть шкаф можно до {e}, если он не подойдёт."),
    ),
    Scenario(
        "conference", "Осенняя конференция",
        ("Программа осенней конференции о деревьях в городе почти готова, осталось немного.",
         "Для нашей небольшой конференции о деревьях в городе наконец нашёлся зал."),
        ("Конференция открывается {e} в большом зале.", "Тезисы принимаются до {e}, не позднее.",
         "Докладчики получат ответ до {e}.", "Льготный взнос действует до {e}."),
    ),
    Scenario(
        "hiring", "Место в архиве",
        ("Городскому архиву нужен помощник, который готов работать два дня в неделю.",
         "В городском архиве открылось место помощника, и подать заявку может каждый."),
        ("Заявки принимаются до {e}.", "Собеседования пройдут {e} в читальном зале.",
         "Договор вступает в силу {e}, раньше выйти нельзя.", "Прежняя сотрудница уволилась {e}."),
    ),
    Scenario(
        "flat", "Две комнаты у реки",
        ("Сдаётся тихая квартира у реки: две комнаты, балкон и большая кухня.",
         "Наша квартира у реки ждёт жильцов, которым нравятся старые дома."),
        ("Квартира свободна с {e}.", "Смотреть квартиру можно с {e}.", "Котёл последний раз проверяли {e}.",
         "Нынешний договор истекает {e}."),
    ),
    Scenario(
        "clinic", "Ваш осмотр",
        ("Напоминаем об осмотре, который вы просили назначить вам на удобное время.",
         "Пришли результаты вашего анализа крови, и все показатели в пределах нормы."),
        ("Следующий приём назначен на {e}.", "Кровь на анализ брали {e}.",
         "Рецепт действует до {e}.", "Врач уходит в отпуск с {e} на две недели."),
    ),
    Scenario(
        "school_trip", "Поездка в пещеры",
        ("Седьмой класс вместе с двумя учителями собирается посетить старые соляные пещеры.",
         "Мы готовим для всего седьмого класса поездку в старые соляные пещеры."),
        ("Автобус отправляется {e} от школы.", "Согласие родителей нужно сдать до {e}.",
         "Собрание для родителей пройдёт {e}.", "Вторая группа поедет {e}, если наберётся."),
    ),
    Scenario(
        "library", "Ваши книги",
        ("Три книги, которые вы взяли в нашем филиале, до сих пор не возвращены.",
         "Наш филиал закроется на несколько недель, потому что чинят крышу."),
        ("Срок возврата книг истёк {e}.", "Филиал снова откроется {e}.",
         "Билет нужно продлить до {e}.", "Новый каталог заработает {e}."),
    ),
    Scenario(
        "repair", "Лифт в девятом доме",
        ("Лифт в девятом доме не работает с той самой грозы на прошлой неделе.",
         "Наши мастера осмотрели лифт в девятом доме сверху донизу и нашли поломку."),
        ("Запасную часть ждём {e}.", "Последний осмотр лифта провели {e}.",
         "Ремонт должен закончиться до {e}.", "Гарантия, к сожалению, истекла {e}."),
    ),
    Scenario(
        "travel", "Ваша поездка к морю",
        ("Высылаем документы для вашей поездки к морю, которую вы заказали у нас.",
         "Для вашей поездки к морю мы подобрали другую гостиницу, лучше прежней."),
        ("Ваш поезд отправляется {e} с главного вокзала.", "В гостинице вас ждут {e} после обеда.",
         "Отменить поездку бесплатно можно до {e}.", "Обратный поезд идёт {e}."),
    ),
    Scenario(
        "choir", "Весенний концерт",
        ("Для весеннего концерта наш хор нашёл прекрасный старый зал у реки.",
         "Репетиции весеннего концерта идут хорошо, и новые ноты уже пришли."),
        ("Концерт состоится {e}.", "Первая общая репетиция пройдёт {e}.",
         "Билеты поступят в продажу {e}.", "Ноты нужно вернуть до {e}."),
    ),
    Scenario(
        "museum", "Глобус для выставки",
        ("Музей хотел бы одолжить ваш старый глобус для выставки о географических картах.",
         "Наша выставка о старых картах почти готова, не хватает одного экспоната."),
        ("Выставка откроется {e}.", "Глобус заберут {e} вместе с подставкой.",
         "Страховка действует до {e}.", "Впервые о глобусе мы говорили {e}."),
    ),
    Scenario(
        "survey", "Учёт растений на лугу",
        ("Скоро начнётся учёт растений на сыром лугу за старой водяной мельницей.",
         "Добровольцы снова пересчитали орхидеи на сыром лугу за старой мельницей."),
        ("Первый подсчёт провели {e}.", "Добровольцы собираются {e} у моста.",
         "Отчёт нужно отправить до {e}.", "Косить луг запрещено до {e}."),
    ),
)  # fmt: skip

LANGUAGES = {
    "en": Language(
        people=_english(),
        scenarios=_EN_SCENARIOS,
        emails=(
            "Questions are best sent to {e}.", "Please write to {n} at {e} if anything is unclear.",
            "A copy of this message has gone to {e}.", "{n} reads the mail at {e} during working hours.",
            "Send the signed form to {e}, please.", "For everything else there is {e}.",
            "{n} keeps the list of names and answers mail at {e}.", "Photographs can be mailed to {e}.",
        ),
        phones=(
            "The office answers on {e}.", "Call {n} on {e} if you are running late.",
            "{n} is at {e} most mornings.", "Outside working hours, please ring {e}.",
            "Leave a message on {e} and we will call back.", "Our number is {e}.",
            "You can also reach the front desk on {e}.", "Text {n} at {e} should plans change.",
        ),
        closings=(
            "Many thanks for your patience and your kind help with all of this.",
            "Please keep this message until everything has been settled to your liking.",
            "We look forward to hearing from you whenever it suits you best.",
            "Do pass this on to anyone else who might want to know about it.",
        ),
        again={
            "emails": "Once more, the address is {e}.", "phones": "Once again, the number is {e}.",
            "dates": "To repeat, the day in question is {e}.",
        },
        distractors=(
            ("an order number", ("The order number is {x}.", "Please quote reference {x} in any reply.")),
            ("a price", ("The total comes to {x}, tax included.", "A deposit of {x} is asked for.")),
            ("a time", ("The doors open at {x}.", "The desk closes at {x} sharp.")),
            ("a handle", ("We also post news as {x}.", "You can follow the team under {x}.")),
            ("a partial date", ("We are closed every year on {x}.", "The founders are remembered each {x}.")),
            ("a room number", ("Come to room {x} on the second floor.", "Keys can be picked up in room {x}.")),
        ),
        forms=(
            "Subject: {subject}\n\nDear {given},\n\n{body}\n\n{sign}\n{writer}",
            "MEMO\nTo: {reader}\nFrom: {writer}\nRe: {subject}\n\n{body}",
            "{subject}\n\n{body}\n\n{sign}, {writer}",
            "Note for {reader}. {body}",
            "NOTICE: {subject}\n\n- {body}",
        ),
        signs=("Kind regards", "Best wishes", "Yours sincerely"),
    ),
    "ru": Language(
        people=_russian(),
        scenarios=_RU_SCENARIOS,
        emails=(
            "Вопросы лучше присылать на {e}.", "Если что-то неясно, напишите {d} на {e}.",
            "Копия этого сообщения отправлена на {e}.", "{n} отвечает на письма по адресу {e} в рабочее время.",
            "Подписанный бланк пришлите, пожалуйста, на {e}.", "По всем остальным вопросам есть адрес {e}.",
            "{n} ведёт списки и читает почту на {e}.", "Фотографии можно отправить {d} на адрес {e}.",
        ),
        phones=(
            "Канцелярия отвечает по телефону {e}.", "Если опаздываете, позвоните {d} по номеру {e}.",
            "{n} просил{a} звонить по номеру {e}.", "В нерабочее время набирайте {e}.",
            "Оставьте сообщение на {e}, и мы перезвоним.", "Наш номер — {e}.",
            "Дежурный у входа ответит по номеру {e}.", "Связаться с {i} можно по телефону {e}.",
        ),
        closings=(
            "Большое спасибо вам за терпение и за помощь во всём этом деле.",
            "Пожалуйста, сохраните это сообщение, пока все вопросы не будут окончательно решены.",
            "Будем рады получить от вас ответ в любое удобное для вас время.",
            "Передайте это, пожалуйста, всем, кому такие сведения тоже могут быть полезны.",
        ),
        again={
            "emails": "Ещё раз: адрес почты — {e}.", "phones": "Ещё раз: номер телефона — {e}.",
            "dates": "Повторим: нужный день — {e}.",
        },
        distractors=(
            ("an order number", ("Номер заказа — {x}.", "В ответе укажите, пожалуйста, номер {x}.")),
            ("a price", ("Всего выходит {x} с учётом налога.", "Залог составляет {x} и возвращается.")),
            ("a time", ("Двери открываются в {x}.", "Приём заканчивается ровно в {x}.")),
            ("a handle", ("Новости мы публикуем и под именем {x}.", "За новостями можно следить у {x}.")),
            ("a partial date", ("Каждый год {x} мы закрыты.", "Основателей вспоминают каждый год {x}.")),
            ("a room number", ("Проходите в кабинет {x} на втором этаже.", "Ключи выдают в кабинете {x}.")),
        ),
        forms=(
            "Тема: {subject}\n\nЗдравствуйте, {given}!\n\n{body}\n\n{sign},\n{writer}",
            "СЛУЖЕБНАЯ ЗАПИСКА\nКому: {reader_d}\nАвтор: {writer}\nТема: {subject}\n\n{body}",
            "{subject}\n\n{body}\n\n{sign}, {writer}",
            "Заметка. {reader}, это для вас. {body}",
            "ОБЪЯВЛЕНИЕ: {subject}\n\n- {body}",
        ),
        signs=("С уважением", "Всего доброго", "С наилучшими пожеланиями"),
    ),
}  # fmt: skip
