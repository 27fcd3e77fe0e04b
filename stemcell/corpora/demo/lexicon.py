"""The words of the demo language other than verbs: nouns and adjectives by kind, adverbs, numbers and names.

Kinds (person, place, document ...) are all the meaning there is: they keep sentences plausible and let a reader
tell from the words where a preposition belongs. Many words have two classes on purpose (``a walk`` and ``they
walk``), and many names two types (``Lincoln``).
"""

from __future__ import annotations

# All lists are words between spaces. Nouns: a slash gives an irregular plural.
NOUNS = {
    "person": """doctor teacher nurse lawyer farmer student singer writer painter baker driver judge coach pilot cook
        guard guide mayor minister neighbor child/children woman/women man/men friend engineer soldier tourist waiter
        reporter""",
    "animal": "dog cat horse fox/foxes goat bear monkey",
    "place": """museum school library/libraries hospital theater garden park bridge castle factory/factories hotel
        bakery/bakeries station market church/churches harbor farm office tower""",
    "org": "company/companies committee team newspaper bank union council club ministry/ministries",
    "container": "box/boxes suitcase window door drawer gate bottle",
    "object": """bicycle lamp table chair clock camera coat ring painting piano/pianos guitar radio/radios watch/watches
        mirror""",
    "document": "letter report book article poem map contract story/stories play review",
    "plan": "plan answer offer bill proposal",
    "food": "soup cake apple salad pie sandwich/sandwiches potato/potatoes",
    "vehicle": "train bus/buses ship truck car plane boat",
    "event": "meeting concert wedding trial festival lecture walk",
    "contest": "match/matches race election fight",
    "force": "storm flood fire earthquake noise",
}
# What things are handled with, by verb.
TOOLS = {
    "open": "key knife hammer",
    "paint": "brush roller",
    "cut": "knife",
    "clean": "brush sponge",
    "mark": "pencil brush",
    "": "hammer knife rope needle saw",
}
TOPICS = "history music football politics chess climate money medicine mathematics war painting"
# What a thing can be said to have: "with" before these belongs to the noun, before a tool to the verb.
PARTS = {
    "person": "beard hat scar umbrella",
    "place": "roof balcony/balconies fence clock gate",
    "container": "handle lid label lock crack",
    "object": "handle label crack cover",
    "document": "cover title signature stamp",
    "vehicle": "roof engine horn bell",
}
MATERIALS = {
    "place": "stone brick city village",
    "container": "glass metal garden",
    "object": "kitchen glass silver",
    "document": "history school police",
    "food": "fish vegetable",
    "vehicle": "school cargo",
    "event": "school village",
    "org": "city football farm",
}

ADJECTIVES = {
    "person": "young old tall famous kind rich clever careful brave quiet polite",
    "animal": "young old hungry black white wild",
    "place": "old new small large quiet famous empty beautiful ugly",
    "org": "large small local foreign young",
    "container": "heavy broken red small old open wooden",
    "object": "cheap expensive broken heavy old green beautiful",
    "document": "long short secret important strange famous boring",
    "plan": "good bad secret strange new long",
    "food": "fresh cold hot sweet good",
    "vehicle": "fast slow old blue crowded empty",
    "event": "long important boring local famous",
    "contest": "important boring local fair",
    "city": "beautiful old famous quiet large",
    "force": "terrible sudden big",
}
MOODS = "happy tired angry ill late ready busy hungry"
COMPARED = "old young tall rich kind clever fast cheap long small quiet"
FEELINGS = {"afraid": "of", "proud": "of", "angry": "about", "sure": "about", "famous": "for"}

FIRST_NAMES = """Anna Mark Grace Ben Rose Will Clara Jordan Maria David Lucy Austin Peter Florence Omar Ruth Victor
    Georgia Daniel May Nina Bill Helen Carlos Sydney Ivan Julia Leo Sarah Chen Emma Hugo Alice Jack Ines Tariq
    Nora Felix Amara Otto"""
LAST_NAMES = """Reed Lincoln Walker Ashby Moreno Ford Baker Hamilton Novak Morgan Cook Brandt Sheffield Okafor Young
    Marlow Silva Jackson Tanaka Wellington Page Hansen Stone Houston Rossi Bell Petrov Kaplan Dubois Nakamura
    Castle Haddad Weber Lindqvist Osei"""
CITIES = """Paris Lincoln Oslo Houston Lima Ashby Boston Sydney Cairo Wellington Dublin Marlow Tokyo Florence Austin
    Madrid Sheffield Nairobi Vienna Hamilton Denver Prague Jackson Lisbon Havana Quito Brandt Geneva Halifax
    Tbilisi"""
COUNTRIES = "Norway Jordan Peru Georgia Kenya Ireland France Egypt Japan Chile Austria Cuba Nepal Ghana"
COMPANIES = """Ford Corvane Brandt Lumetra Morgan Halden Ashby Orbis Sheffield Nordwind Marlow Telvia Hamilton
    Quillon Zentrix Amberly Wellington Kestrel Pallas Verity"""
ACRONYMS = "NTO IBR UNF KLM ABW CRE TNP EAU"
SUFFIXES = "Bank Motors Press Airlines Group Foods Institute"
RANGES = "Alps Andes Pyrenees"
FEATURES = "River Bridge Park Street"
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
MONTHS = "January March April May June August October December"

FREQUENCIES = "often always never usually rarely"
STANCES = "fortunately sadly perhaps apparently however surprisingly"
NUMBERS = "two three four five six ten twelve 15 20 40"


def third(lemma: str) -> str:
    """The regular -s form: of a verb its third person, of a noun its plural.

    >>> third("carry"), third("play"), third("watch")
    ('carries', 'plays', 'watches')
    """
    if lemma.endswith(("s", "sh", "ch", "x", "o")):
        return lemma + "es"
    return lemma[:-1] + "ies" if lemma.endswith("y") and lemma[-2] not in "aeiou" else lemma + "s"
