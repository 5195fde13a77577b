"""English word problems and the phrases of models' solutions."""
# ruff: noqa: E501 - a problem a line

from tests.acceptance.chains.words import Words, texts

PROBLEMS = texts("""
pens | Tom has {a} boxes with {b} pens in each and buys {c} pens more. How many pens has he now? | number of pens in the boxes | total number of pens
shop | Ann buys {a} books at {p} each and {n} pens at {q} each. How much does she pay? | cost of the books | cost of the pens | total cost
change | Ben buys {a} apples at {p} each and pays with {g}. How much change does he get? | cost of the apples | change
discount | A coat costs {p} and is sold with {s} off. What is the sale price? | discount | sale price
reading | Mia has read {f} of a book of {t} pages and reads the rest in {d} days. How many pages a day? | number of pages read | number of pages left | number of pages per day
wages | Joe works {h} hours a day, {d} days a week, for {w} an hour. What does he earn in a week? | hours per week | weekly pay
overtime | Kim is paid {w} an hour for {h} hours and half as much again for {o} hours of overtime. What is she paid? | regular pay | overtime rate | overtime pay | total pay
drive | A lorry goes at {v} for {t} hours on a road of {r}. How far has it still to go? | distance covered | distance left
return | A train goes {r} at {v} and back. How many hours does it travel? | time one way | time both ways
fence | A garden is {l} m long and {w} m wide, and a metre of fence costs {p}. What does the fence cost? | perimeter | cost of the fence
tiles | A floor of {l} m by {w} m takes {k} tiles a square metre, and 20 are kept in reserve. How many tiles are needed? | area of the floor | number of tiles for the floor | number of tiles in all
eggs | {h} hens lay {e} eggs a day each, sold at {p} a dozen. What does a week bring? | eggs per day | eggs per week | number of dozens | weekly income
ages | Lea is {a}, her brother {k} years older, and their aunt twice as old as the brother. How old are the three together? | age of the brother | age of the aunt | sum of their ages
later | Max is {a} and his father three times as old. How many years older will the father be in {n} years? | age of the father | age of the father then | age of Max then | difference in age
saving | Eve earns {e} a week and spends {s}. In how many weeks has she saved {g}? | weekly savings | number of weeks
class | {s} of {t} pupils play chess. How many do not? | number of chess players | number of other pupils
mean | Four tests brought {a}, {b}, {c} and {d} points. What is the mean? | sum of the points | mean
interest | {p} lies at {s} simple interest for {n} years. What is it worth then? | interest per year | interest in all | final amount
tank | A pump fills {r} litres a minute for {t} minutes into a tank of {c} litres; then another fills 20 a minute. How long does that one run? | volume filled | volume left | minutes left
pizza | {n} pizzas of 8 slices feed {p} children with {k} slices each. How many slices are left? | number of slices | number of slices eaten | number of slices left
rows | A hall has {r} rows of {s} seats; {e} stay empty, and a ticket costs {p}. What do the tickets bring? | number of seats | number of seats sold | ticket income
harvest | {t} trees bear {y} kg each; {s} is sold at {p} a kg. What does it bring? | total harvest | amount sold | income
fuel | A car takes {c} litres for 100 km at {p} a litre. What do {r} cost? | fuel needed | cost of the fuel
crates | What do {a} crates of {k} and {b} bags of {m} weigh together? | total weight
dogs | {n} dogs are each washed for {a}, dried for {b} and brushed for {c}. How many minutes does it take? | total time
profit | A baker sells {n} cakes at {p} each that cost {q} each to make. What is the profit? | income | cost of making them | profit
bus | Of {a} people on a bus {b} get off and {c} get on, then {d} get off. How many are left? | number of people after the first stop | number of people left
phone | A plan has {f} free minutes, {r} for a minute above them and {b} a month. What do {m} minutes cost? | number of paid minutes | cost of the paid minutes | monthly bill
pages | Ida reads {a} pages in the morning and {b} at night for {d} days. How many pages is a seventh of that? | number of pages in all | pages per seventh
thrice | Sam sold {a} tickets, Zoe twice as many, and Pat three times as many as Zoe. How many together? | number of Zoe's tickets | number of Pat's tickets | number of tickets together
tax | {a} books cost {p} each, and {s} tax is added. What is the total? | price before tax | tax | total price
split | Friends spent {a}, {b} and {c} and share it equally among {n}. What does each pay? | total spent | share of each
sweets | Of {a} sweets {b} are eaten and the rest is shared among {n} children. How many does each get? | number of sweets left | number of sweets for each
paint | A room is {l} m by {w} m and {h} m high; a litre of paint covers {k} square metres. How much paint do the walls take? | area of the walls | paint needed
rise | A salary of {p} a month rises by {s}. What is it for a year? | raise | new salary | yearly salary
sale | A coat at {p} is sold with {s} off. What do {n} such coats cost? | sale price | cost of all
growth | A village of {a} people grows by {s}, then {b} move in. How many live there? | population after the growth | population in the end
share | {a} pupils walk and {b} come by bus. What share walks? | number of pupils | share of walkers
work | {a} people work {h} hours a day for {d} days; the job takes {b} hours. How many hours are left? | number of hours worked | number of hours left
""")

ENGLISH = Words(
    language="en",
    units={
        "box": ("box", "boxes"),
        "pen": ("pen", "pens"),
        "book": ("book", "books"),
        "apple": ("apple", "apples"),
        "page": ("page", "pages"),
        "day": ("day", "days"),
        "hour": ("hour", "hours"),
        "min": ("minute", "minutes"),
        "km": ("km", "km"),
        "kmh": ("km/h", "km/h"),
        "metre": ("m", "m"),
        "sqm": ("m²", "m²"),
        "kg": ("kg", "kg"),
        "tile": ("tile", "tiles"),
        "hen": ("hen", "hens"),
        "egg": ("egg", "eggs"),
        "dozen": ("dozen", "dozen"),
        "year": ("year", "years"),
        "week": ("week", "weeks"),
        "pupil": ("child", "children"),
        "point": ("point", "points"),
        "litre": ("liter", "liters"),
        "pizza": ("pizza", "pizzas"),
        "slice": ("slice", "slices"),
        "row": ("row", "rows"),
        "seat": ("seat", "seats"),
        "tree": ("tree", "trees"),
        "crate": ("crate", "crates"),
        "bag": ("bag", "bags"),
        "dog": ("dog", "dogs"),
        "cake": ("cake", "cakes"),
        "person": ("person", "people"),
        "ticket": ("ticket", "tickets"),
        "sweet": ("candy", "candies"),
    },
    money=("${}", "${}", "{} dollars", "€{}", "£{}", "{} USD"),
    rate=" per ",
    step=(
        "Step {i}: {label}",
        "Step {i}. Find the {label}",
        "{i}. Calculate the {label}",
        "### Step {i}: {label}",
        "**Step {i}:** Determine the {label}.",
        "Step {i} - {label}",
    ),
    head=(
        "Let's solve this step by step.",
        "To solve this problem, we work through it one part at a time.",
        "Solution:",
        "Let's break it down:",
        "Here is the reasoning:",
        "**Solution**",
    ),
    lines=(
        "{Label}: {eq}",
        "To find the {label}: {eq}",
        "First, we find the {label}: {eq}",
        "The {label} is {eq}.",
        "So the {label} comes to {eq}.",
        "Next, calculate the {label}: {eq}.",
        "Then the {label} will be {eq}",
        "Thus, the {label} is: {eq}",
        "We know that the {label} is {eq}.",
        "Now we get {eq} as the {label}.",
        "Therefore, {eq}, which is the {label}.",
    ),
    results=("This gives {r} as the {label} ({eq}).", "The {label} is {r} ({eq})."),
    acts={
        "+": (
            "Adding these together gives a total of {eq}",
            "The sum is {eq}",
            "Add them up: {eq}",
            "Altogether that makes a sum of {eq}",
            "We add to find the {label}, for a total of {eq}.",
        ),
        "-": (
            "Subtracting gives a difference of {eq}",
            "The difference is {eq}",
            "Subtract to get the {label}: {eq}",
            "What is left after subtraction is {eq}.",
            "Taking it away, we have {eq} left.",
        ),
        "*": (
            "Multiplying gives a total of {eq}",
            "The product is {eq}",
            "Multiply to find the {label}: {eq}",
            "That is a total of {eq}",
            "Multiply these to get the product of {eq}.",
        ),
        "/": (
            "Dividing gives {eq}",
            "The quotient is {eq}",
            "Divide to find the {label}: {eq}",
            "After division, each gets {eq}",
            "Divide equally: {eq}.",
        ),
    },
    named_acts={
        "+": ("Add {b} to {a}: {eq}", "{a} plus {b} gives the {label}: {eq}"),
        "-": ("Subtract {b} from {a}: {eq}", "Take {b} away from {a}: {eq}"),
        "*": ("Multiply {a} by {b}: {eq}", "{a} times {b} is the {label}: {eq}"),
        "/": ("Divide {a} by {b}: {eq}", "{a} divided by {b} is the {label}: {eq}"),
    },
    part_of=("{a} of {b} = {r}", "{a} of {b} is {b} {x} {a} = {r}", "{a} of {b}: {b} {x} {a} = {r}"),
    finals=(
        "The answer is {n}.",
        "**Answer:** {n}",
        "#### {bare}",
        "\\boxed{{{bare}}}",
        "Final answer: {n}",
        "Answer: {n}",
        "The final answer is **{n}**.",
        "\\[\n\\boxed{{{bare}}}\n\\]",
        "Therefore, the answer is $\\boxed{{{bare}}}$.",
    ),
    links=("First, ", "Then ", "Next, ", "After that, ", "Finally, "),
    table=("What", "Calculation"),
    unknown=("Let {x} be the {label}: {x} = {eq}", "Let {x} = the {label}. Then {x} = {eq}", "{x} = {eq}"),
    problems=PROBLEMS,
)
